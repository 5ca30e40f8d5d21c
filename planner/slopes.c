/* SPDX-License-Identifier: BSD-3-Clause */
/* slopes.c -- the loops over all choices, for any machine and for AVX2 */

#include "planner/slopes.h"

#include "tiers/cpu.h"

#define LANES 4u		/* at most */

/* One that stores no less than it is given never pays; one that cannot be used
 * costs INFINITY or, times 0, NAN, which is not less than anything either.
 */
#define LOOPS(name, target, N)						\
typedef double name##_lanes __attribute__((vector_size(8 * (N))));	\
typedef int64_t name##_masks __attribute__((vector_size(8 * (N))));	\
									\
target static inline void						\
name##_load(const double *from, name##_lanes *ret)			\
{									\
	memcpy(ret, from, sizeof(*ret));				\
}									\
									\
target static inline void						\
name##_pick(const name##_masks *which, const name##_lanes *yes,	\
	    name##_lanes *io)						\
{									\
	*io = (name##_lanes)((*which & (name##_masks)*yes) |		\
			     (~*which & (name##_masks)*io));		\
}									\
									\
target static inline double						\
name##_least(const name##_lanes *v)					\
{									\
	double least = (*v)[0];						\
									\
	for (unsigned i = 1; i < (N); i++)				\
		least = SPW_MIN(least, (*v)[i]);			\
	return least;							\
}									\
									\
target static double							\
name##_weigh(struct spw_search *s, const struct spw_slopes_weights *w)	\
{									\
	const struct spw_costs *costs = s->costs;			\
	const name##_lanes none = { 0 }, whole = none + SPW_QUANTUM;	\
	name##_lanes least = whole;					\
									\
	for (unsigned c = 0; c + (N) <= costs->n; c += (N)) {		\
		name##_lanes pack, unpack, given, stored = whole;	\
		name##_lanes work, paid = none + SPW_MATCH_NEVER;	\
		name##_masks packs, less;				\
									\
		name##_load(costs->pack + c, &pack);			\
		name##_load(costs->unpack + c, &unpack);		\
		name##_load(costs->stored + c, &given);			\
		packs = given < whole;					\
		work = w->now * pack + w->later * unpack;		\
		name##_pick(&packs, &work, &paid);			\
		name##_pick(&packs, &given, &stored);			\
		less = stored < least;					\
		name##_pick(&less, &stored, &least);			\
		pack = w->busy * pack;					\
		memcpy(s->work + c, &paid, sizeof(paid));		\
		memcpy(s->pack + c, &pack, sizeof(pack));		\
		memcpy(s->stored + c, &stored, sizeof(stored));		\
	}								\
	return name##_least(&least);					\
}									\
									\
target static double							\
name##_draw(const struct spw_search *s, struct spw_line *line)		\
{									\
	const name##_lanes none = { 0 };				\
	name##_lanes least = none + SPW_MATCH_NEVER;			\
									\
	for (unsigned c = 0; c < s->costs->n; c += (N)) {		\
		name##_lanes stored, slope, pack, written;		\
		name##_masks less;					\
									\
		name##_load(s->stored + c, &stored);			\
		name##_load(s->work + c, &slope);			\
		slope += stored * line->moved;				\
		if (s->ch->overlap) {					\
			name##_load(s->pack + c, &pack);		\
			written = stored * line->written;		\
			less = pack > written;				\
			name##_pick(&less, &pack, &written);		\
			slope += written;				\
		}							\
		less = slope < least;					\
		name##_pick(&less, &slope, &least);			\
		memcpy(line->slope + c, &slope, sizeof(slope));		\
	}								\
	return name##_least(&least);					\
}

LOOPS(plain, , 2)
#ifdef __x86_64__
LOOPS(avx2, __attribute__((target("avx2"))), 4)
#endif

/* The last choices, fewer than there are lanes, and such as are never taken. */
static double
weigh_rest(struct spw_search *s, const struct spw_slopes_weights *w,
	   double least)
{
	const struct spw_costs *costs = s->costs;
	unsigned c = costs->n - costs->n % LANES;

	for (; c < spw_round_up(costs->n, LANES); c++) {
		bool packs = c < costs->n && costs->stored[c] < SPW_QUANTUM;

		s->work[c] = packs ? w->now * costs->pack[c] +
				     w->later * costs->unpack[c]
				   : SPW_MATCH_NEVER;
		s->pack[c] = packs ? w->busy * costs->pack[c] : 0;
		s->stored[c] = packs ? costs->stored[c] : SPW_QUANTUM;
		least = SPW_MIN(least, s->stored[c]);
	}
	return least;
}

double
spw_slopes_weigh(struct spw_search *s, const struct spw_slopes_weights *w)
{
	double least;

#ifdef __x86_64__
	least = spw_has_avx2() ? avx2_weigh(s, w) : plain_weigh(s, w);
#else
	least = plain_weigh(s, w);
#endif
	return weigh_rest(s, w, least);
}

double
spw_slopes_draw(const struct spw_search *s, struct spw_line *line)
{
#ifdef __x86_64__
	if (spw_has_avx2())
		return avx2_draw(s, line);
#endif
	return plain_draw(s, line);
}
