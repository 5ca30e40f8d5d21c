/* SPDX-License-Identifier: BSD-3-Clause */
/* analyze-look.c -- what bytes would be as numbers of 4 or 8 bytes */

/* Of each window 16 values are looked at, several at once.  Lanes of a vector
 * are those of one half and the other in turns.
 */

#include "planner/analyze-parts.h"

enum { VALUES = 16 };

/* Is x, as a signed number, within 2^bits of 0? */
#define WITHIN(x, bits)							\
	((((x) + ((x - x + 1) << (bits))) >> ((bits) + 1)) == 0)

#define SWAPPED4(v) ((v) << 24 | ((v) & 0xff00) << 8 |			\
		     ((v) >> 8 & 0xff00) | (v) >> 24)
#define PAIRS ((uint64_t)0x0000ffff0000ffff)
#define BYTES ((uint64_t)0x00ff00ff00ff00ff)
#define SWAPPED8(v)							\
	(v = ((v) << 8 & ~BYTES) | ((v) >> 8 & BYTES),			\
	 v = ((v) << 16 & ~PAIRS) | ((v) >> 16 & PAIRS),		\
	 (v) << 32 | (v) >> 32)

/* v, from p on. */
#define GET(v, p, is_big, SWAPPED) do {					\
	memcpy(&v, p, sizeof(v));					\
	if (is_big)							\
		v = SWAPPED(v);						\
} while (0)

/* Numbers of W bytes in vectors of V.  The exponent of a float is at AT, of
 * BITS, and for what measurements have from LEAST to MOST.  Integers lie far
 * from the limits of their width, or near each other; floats within some
 * powers of two below the largest.  A comparison yields -1.
 */
#define LOOK(name, target, V, W, T, S, SWAPPED, AT, BITS, LEAST, MOST)	\
typedef T name##_vec __attribute__((vector_size(V)));			\
typedef S name##_mask __attribute__((vector_size(V)));			\
enum { name##_EACH = VALUES * (W) / (V) };	/* of a window */	\
									\
struct name##_sums {							\
	name##_vec e[2 * name##_EACH], largest;				\
	name##_vec all;			/* a count in each byte */	\
};									\
									\
target static inline __attribute__((always_inline)) void		\
name##_window(const uint8_t *p, bool is_big, name##_vec *e,		\
	      struct name##_sums *s)					\
{									\
	name##_vec first, v, next;					\
	name##_mask is, more;						\
									\
	for (int k = 0; k < (V) / (W); k += 2)				\
		memcpy((uint8_t *)&first + k * (W), p, 2 * (W));	\
	if (is_big)							\
		first = SWAPPED(first);					\
	UNROLLED							\
	for (int i = 0; i < name##_EACH; i++, p += (V)) {		\
		GET(v, p, is_big, SWAPPED);				\
		GET(next, p + 2 * (W), is_big, SWAPPED);		\
		next -= v;						\
		is = next != 0;						\
		s->all -= (name##_vec)is << 16;				\
		is &= WITHIN(next, 11);					\
		s->all -= (name##_vec)is << 24;				\
		is = ~WITHIN(v, 0);					\
		s->all -= (name##_vec)is;				\
		next = v - first;					\
		is &= WITHIN(next, 8 * (W) - 5) |			\
		      WITHIN(v, 8 * (W) - 5);				\
		s->all -= (name##_vec)is << 8;				\
		v = v >> (AT) & ((1 << (BITS)) - 1);			\
		is = ((name##_mask)v >= (LEAST)) &			\
		     ((name##_mask)v <= (MOST));			\
		e[i] = v & (name##_vec)is;				\
		more = (name##_mask)e[i] > (name##_mask)s->largest;	\
		s->largest = (e[i] & (name##_vec)more) |		\
			     (s->largest & ~(name##_vec)more);		\
	}								\
}									\
									\
target static inline __attribute__((always_inline)) void		\
name##_add(const struct name##_sums *s, struct spw_look *ret)		\
{									\
	name##_vec floats = { 0 };					\
	uint32_t sum[2] = { 0 };					\
	S top = 0;							\
									\
	for (int k = 0; k < (V) / (W); k++) {				\
		S its = (S)s->largest[k];				\
									\
		top = its > top ? its : top;				\
		sum[k % 2] += (uint32_t)s->all[k];			\
	}								\
	UNROLLED							\
	for (int i = 0; i < 2 * name##_EACH; i++)			\
		floats -= (name##_vec)((s->e[i] != 0) &			\
			((name##_mask)s->e[i] + 24 >= top));		\
	*ret = (struct spw_look){ .half[0].n = 0 };			\
	for (int k = 0; k < (V) / (W); k++)				\
		ret->half[k % 2].floats += (unsigned int)floats[k];	\
	for (int k = 0; k < 2; k++) {					\
		ret->half[k].n = sum[k] & 0xff;				\
		ret->half[k].integers = sum[k] >> 8 & 0xff;		\
		ret->half[k].changes = sum[k] >> 16 & 0xff;		\
		ret->half[k].steps = sum[k] >> 24;			\
	}								\
}									\
									\
target static inline __attribute__((always_inline)) void		\
name##_at(const struct spw_sample *sample, bool is_big,			\
	  struct spw_look *ret)						\
{									\
	struct name##_sums s;						\
									\
	s.all = s.largest = (name##_vec){ 0 };				\
	name##_window(sample->one, is_big, s.e, &s);			\
	name##_window(sample->two, is_big, s.e + name##_EACH, &s);	\
	name##_add(&s, ret);						\
}									\
									\
target static void							\
name(const struct spw_sample *s, bool is_big, struct spw_look *ret)	\
{									\
	if (is_big)							\
		name##_at(s, true, ret);				\
	else								\
		name##_at(s, false, ret);				\
}

#define BOTH(name, target, V, S4, S8)					\
	LOOK(name##_4, target, V, 4, uint32_t, int32_t, S4, 23, 8, 24,	\
	     230)							\
	LOOK(name##_8, target, V, 8, uint64_t, int64_t, S8, 52, 11,	\
	     723, 1323)

BOTH(plain, , 16, SWAPPED4, SWAPPED8)
#ifdef __x86_64__
#define TURNED4(v) ((avx2_4_vec)SPW_TURNED_4(v))
#define TURNED8(v) ((avx2_8_vec)SPW_TURNED_8(v))
BOTH(avx2, __attribute__((target("avx2"))), 32, TURNED4, TURNED8)
#endif

void
spw_analyze_look(const struct spw_sample *s, unsigned int width, bool is_big,
		 struct spw_look *ret)
{
#ifdef __x86_64__
	if (spw_has_avx2()) {
		(width == 4 ? avx2_4 : avx2_8)(s, is_big, ret);
		return;
	}
#endif
	(width == 4 ? plain_4 : plain_8)(s, is_big, ret);
}
