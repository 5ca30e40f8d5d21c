/* SPDX-License-Identifier: BSD-3-Clause */
/* analyze-stride.c -- after how many bytes does the data look the same again */

/* The high bytes of numbers, constant fields and flags return after the
 * length of an element, and more so after that of a record.  So for a distance
 * d we count how many of 256 bytes equal the one d later.  Short
 * distances come first, in both windows; they tell noise from numbers, and
 * give the element.  Then multiples of 8 have to beat it clearly: they are
 * the records, or several of them.  All other distances are tried only if the
 * short ones contradict each other, as they do when a record is of an odd
 * length.
 */

#include "planner/analyze-parts.h"
#include "shm/util.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* How many of p[0..255] equal the byte d later, for n distances d, from
 * `first` in steps; d is at most 255.  V is the bytes of a vector.  A
 * comparison yields -1, so each byte of sum counts to 256 / V.
 */
#define COUNT(name, target, V, add)					\
target static void							\
name(const uint8_t *p, size_t first, size_t step, size_t n,		\
     uint16_t *ret)							\
{									\
	typedef uint8_t vec __attribute__((vector_size(V)));		\
	typedef vec loose __attribute__((aligned(1), may_alias));	\
	vec seen[SEEN / V], sum;					\
	size_t i, k;							\
									\
	UNROLLED							\
	for (i = 0; i < SEEN / V; i++)					\
		seen[i] = *(const loose *)(p + i * V);			\
	for (k = 0, p += first; k < n; k++, p += step) {		\
		sum = (vec){ 0 };					\
		UNROLLED						\
		for (i = 0; i < SEEN / V; i++)				\
			sum -= (vec)(seen[i] ==				\
				     *(const loose *)(p + i * V));	\
		ret[k] = (uint16_t)add((const uint8_t *)&sum);		\
	}								\
}

COUNT(count_plain, , 16, spw_add_16)
#ifdef __x86_64__
__attribute__((target("avx2")))
static inline unsigned int
add_32(const uint8_t *p)
{
	__m256i four = _mm256_sad_epu8(_mm256_loadu_si256((const void *)p),
				       _mm256_setzero_si256());
	__m128i two = _mm_add_epi64(_mm256_castsi256_si128(four),
				    _mm256_extracti128_si256(four, 1));

	return (unsigned int)(_mm_cvtsi128_si32(two) +
			      _mm_extract_epi16(two, 4));
}

COUNT(count_avx2, __attribute__((target("avx2"))), 32, add_32)
#else
#define count_avx2 count_plain
#endif

static void
count(const uint8_t *p, size_t first, size_t step, size_t n, uint16_t *ret)
{
	if (spw_has_avx2())
		count_avx2(p, first, step, n, ret);
	else
		count_plain(p, first, step, n, ret);
}

static unsigned int
count_one(const uint8_t *p, size_t d)
{
	uint16_t equal;

	count(p, d, 0, 1, &equal);
	return equal;
}

struct search {
	const uint8_t *one, *two;	/* windows */
	unsigned int best, least;	/* of the short distances, in both */
	unsigned int in_one, in_both;	/* of what was found so far */
	unsigned int found;
};

static const uint8_t shorts[] = { 1, 2, 3, 4, 6, 8, 12, 16 };

/* Of 512 equal bytes, noise has 2 and seldom more than 8. */
enum { NOTICED = 16 };

/* The mean of 2 such counts, or of 8, seldom reaches 5. */
enum { FAINT = 5 * 168 };

/* Is a count not clearly less than the best: by a fifth of what there is, or
 * by three times what chance does to it?
 */
static bool
is_near(const struct search *s, unsigned int count)
{
	unsigned int less = s->best - count;

	return less * 5 <= s->best - s->least || less * less <= 9 * s->best;
}

/* Does more return after every multiple of an element than in between?  A
 * single byte has nothing in between, so nobody knows.
 */
static bool
is_regular(const unsigned int both[17], unsigned int element)
{
	unsigned int d, least = 2 * SEEN, between = 0;

	for (d = 1; d <= 16; d++)
		if (d % element == 0 && both[d] < least)
			least = both[d];
		else if (d % element && both[d] > between)
			between = both[d];
	return element > 1 && least >= between;
}

/* Of 16-bit numbers the high byte may be one of many, so that hardly more
 * comes back after any one distance than in noise; but after all multiples of
 * an element together it does.  0: no such element.
 */
static unsigned int
find_faint(const unsigned int both[17])
{
	const unsigned int eights = both[8] + both[16];
	const unsigned int fours = eights + both[4] + both[12];
	const unsigned int twos = fours + both[2] + both[6] + both[10] +
				  both[14];
	unsigned int all = twos, d;
	int more[3];			/* than in between, in 1 / 168 */

	for (d = 1; d < 16; d += 2)
		all += both[d];
	more[0] = 21 * (int)twos - 21 * (int)(all - twos);
	more[1] = 42 * (int)fours - 14 * (int)(all - fours);
	more[2] = 84 * (int)eights - 12 * (int)(all - eights);
	if (SPW_MAX(SPW_MAX(more[0], more[1]), more[2]) < FAINT)
		return 0;
	return more[2] > more[1] && more[2] > more[0] ? 8 :
	       more[1] > more[0] ? 4 : 2;
}

/* The shortest that comes near the best.  False: nothing comes back, or not
 * regularly.
 */
static bool
find_short(struct search *s)
{
	uint16_t one[16], two[16];	/* of distances 1 to 16 */
	unsigned int d, both[17];
	size_t i;

	count(s->one, 1, 1, 16, one);
	count(s->two, 1, 1, 16, two);
	s->least = 2 * SEEN;
	for (d = 1; d <= 16; d++) {
		both[d] = one[d - 1] + two[d - 1];
		if (both[d] < s->least)
			s->least = both[d];
	}
	for (i = 0; i < ARRAY_LEN(shorts); i++)
		if (both[shorts[i]] > s->best)
			s->best = both[shorts[i]];
	if (s->best >= s->least + NOTICED || s->best >= 2 * SEEN / 4) {
		for (i = 0; !is_near(s, both[shorts[i]]); i++)
			;
		s->found = shorts[i];
	}
	if (s->found <= 1 && s->best < 2 * SEEN / 8 &&
	    (d = find_faint(both)))
		s->found = d;
	if (!s->found)
		return false;
	s->in_one = one[s->found - 1];
	s->in_both = both[s->found];
	return is_regular(both, s->found);
}

/* The distance found may be several records, if theirs was not tried. */
static void
find_part(struct search *s, unsigned int need)
{
	unsigned int parts, d, in_one;

	for (parts = s->found / 5; parts > 1; parts--) {
		d = s->found / parts;
		if (d * parts != s->found)
			continue;
		in_one = count_one(s->one, d);
		if (in_one < need)
			continue;
		s->found = d;
		s->in_both = in_one + count_one(s->two, d);
		return;
	}
}

/* A longer distance has to be clearly better, in one window by 3 standard
 * deviations or so and then in both.  Its own multiples are as good, so the
 * shortest that comes near the best is taken.
 */
static void
find_long(struct search *s, unsigned int from, unsigned int step,
	  unsigned int to)
{
	const unsigned int n = (to - from) / step + 1;
	uint16_t one[256];
	unsigned int i, best = 0, need, in_both;

	count(s->one, from, step, n, one);
	for (i = 0; i < n; i++)
		best = one[i] > best ? one[i] : best;
	if (best < s->in_one + 24)
		return;
	need = s->in_one + (best - s->in_one) * 3 / 4;
	for (i = 0; one[i] < need; i++)
		;
	in_both = one[i] + count_one(s->two, from + i * step);
	if (in_both < s->in_both + 44)
		return;
	s->found = from + i * step;
	s->in_one = one[i];
	s->in_both = in_both;
	if (step > 1)
		find_part(s, need);
}

/* Are the bits of each `bytes` bytes those of the next ones? */
static bool
is_same(uint64_t bits, unsigned int bytes)
{
	return bits == (bits << 8 * bytes | bits >> (64 - 8 * bytes));
}

/* Of 256 bytes of each window, 8 at once: noise has each bit as 0 and as 1. */
unsigned int
spw_analyze_fixed(const struct spw_sample *s, bool *ret_is_big)
{
	typedef uint64_t vec __attribute__((vector_size(16)));
	vec one, two, any = { 0 }, all = ~any;
	unsigned int width = 8;
	uint64_t fixed;
	size_t i;

	for (i = 0; i < SEEN; i += 16) {
		memcpy(&one, s->one + i, 16);
		memcpy(&two, s->two + i, 16);
		any |= one | two;
		all &= one & two;
	}
	fixed = ~(any[0] | any[1]) | (all[0] & all[1]);
	if (!fixed)
		return 0;
	while (width > 1 && is_same(fixed, width / 2))
		width /= 2;
	*ret_is_big = fixed & 0x80 && !(fixed >> (8 * width - 1) & 1);
	return width;
}

/* 64 bytes of each window: 128 random bytes have 101 different values, give or
 * take 4.
 */
bool
spw_analyze_is_random(const struct spw_sample *s)
{
	uint8_t seen[256] = { 0 };
	uint64_t words[32], sum = 0;
	int i;

	for (i = 0; i < 64; i++) {
		seen[s->one[i]] = 1;
		seen[s->two[i]] = 1;
	}
	memcpy(words, seen, sizeof(words));
	for (i = 0; i < 32; i++)
		sum += words[i];		/* bytes count to 32 */
	sum = (sum & 0x00ff00ff00ff00ffu) + (sum >> 8 & 0x00ff00ff00ff00ffu);
	return sum * 0x0001000100010001u >> 48 >= 87;
}

/* Of 512 bytes, at each place of 8: those that are 0 or 255, and the latter. */
struct places {
	uint8_t either[8], ones[8];
};

static void
count_places(const struct search *s, struct places *ret)
{
	typedef uint8_t vec __attribute__((vector_size(16)));
	vec one, two, either = { 0 }, ones = { 0 };
	size_t i;

	for (i = 0; i < SEEN; i += 16) {
		memcpy(&one, s->one + i, 16);
		memcpy(&two, s->two + i, 16);
		either -= (vec)(one + 1 < 2) + (vec)(two + 1 < 2);
		ones -= (vec)(one == 255) + (vec)(two == 255);
	}
	for (i = 0; i < 8; i++) {
		ret->either[i] = either[i] + either[i + 8];
		ret->ones[i] = ones[i] + ones[i + 8];
	}
}

/* Is the first or the last byte of elements, which is `high` of them, only ever
 * a sign, and the one at the other end mostly not?  Numbers most of which are 0
 * need no filter to pack well.
 */
static bool
is_signed(const struct places *p, unsigned int width, unsigned int high)
{
	unsigned int i, low = width - 1 - high;

	for (i = 0; i < 8; i += width)
		if (p->either[i + high] < 64 || p->ones[i + high] < 4 ||
		    p->either[i + low] > 32)
			return false;
	return true;
}

/* The upper bytes of small numbers of either sign are all 0 or all 255, so each
 * is more like its neighbour than like the same byte of the next number, and
 * the distance found is 1.
 */
static unsigned int
find_signed(const struct search *s)
{
	struct places p;
	unsigned int width;

	count_places(s, &p);
	for (width = 2; width <= 8; width *= 2)
		if (is_signed(&p, width, 0) || is_signed(&p, width, width - 1))
			return width;
	return s->found;
}

unsigned int
spw_analyze_stride(const struct spw_sample *sample)
{
	struct search s = { .one = sample->one, .two = sample->two };
	bool agrees = find_short(&s);

	if (!s.found && spw_analyze_is_random(sample))
		return 0;
	find_long(&s, 24, 8, 248);
	if (!agrees && s.found <= 16)
		find_long(&s, 5, 1, 255);
	return s.found == 1 ? find_signed(&s) : s.found;
}

/* Records of floats alone have no byte that returns, but fields of their own
 * size.  So the exponents of two windows, which are bytes here, are held
 * against those some numbers later: how many are the same, or next to it?
 */
enum { EXPONENTS = WINDOW / 4, HELD = 96, LAGS = 63 };

static uint8_t
exponent_at(const uint8_t *p, const struct spw_traits *t)
{
	const uint8_t *high = t->is_big ? p : p + t->width - 1;
	const uint8_t *low = t->is_big ? p + 1 : high - 1;
	int e;

	if (t->width == 4)
		return (uint8_t)((*high & 0x7f) << 1 | *low >> 7);
	e = ((*high & 0x7f) << 4 | *low >> 4) - 896;	/* 1 is 1023 */
	return (uint8_t)(e < 0 ? 0 : e > UINT8_MAX ? UINT8_MAX : e);
}

static unsigned int
count_near(const uint8_t *p, unsigned int lag)
{
	typedef uint8_t vec __attribute__((vector_size(16)));
	vec a, b, sum = { 0 };
	size_t i;

	for (i = 0; i < HELD; i += 16) {
		memcpy(&a, p + i, 16);
		memcpy(&b, p + i + lag, 16);
		sum -= (vec)((vec)(a - b + 1) < 3);
	}
	return spw_add_16((const uint8_t *)&sum);
}

unsigned int
spw_analyze_record(const struct spw_sample *s, const struct spw_traits *t)
{
	const unsigned int n = WINDOW / t->width;
	const unsigned int lags = SPW_MIN(LAGS, n - HELD - 1);
	unsigned int near[LAGS + 1], lag, most = 0, least = 2 * HELD;
	uint8_t e[2][EXPONENTS];
	size_t i;

	for (i = 0; i < n; i++) {
		e[0][i] = exponent_at(s->one + i * t->width, t);
		e[1][i] = exponent_at(s->two + i * t->width, t);
	}
	for (lag = 1; lag <= lags; lag++) {
		near[lag] = count_near(e[0], lag) + count_near(e[1], lag);
		most = SPW_MAX(most, near[lag]);
		least = SPW_MIN(least, near[lag]);
	}
	/* of 192, chance makes them differ by some 35 at most */
	if (most < least + HELD / 2)
		return 0;
	for (lag = 1; near[lag] + HELD / 6 < most; lag++)
		;
	return lag > 1 ? lag * t->width : 0;
}
