/* SPDX-License-Identifier: BSD-3-Clause */
/* weights.c -- presets, and weights as users write them */

#include "shm/weights.h"

#include "shm/text.h"

#include <errno.h>
#include <string.h>

#define SLACK 0.002		/* 0.333 three times is meant as a whole */

static const struct {
	const char *name;
	struct spw_weights weights;
} presets[] = {
	{ "async", { 1, 0, 0 } },
	{ "archive", { 0, 1, 0 } },
	{ "read-after-write", { 0.3, 0.4, 0.3 } },
	{ "balanced", { 1.0 / 3, 1.0 / 3, 1.0 / 3 } },
};
#define PRESETS (sizeof(presets) / sizeof(presets[0]))

const char *
spw_weights_name(size_t i)
{
	return i < PRESETS ? presets[i].name : NULL;
}

/* Three decimals, those at the end only if they are not 0. */
static void
put_share(struct spw_text *t, double x)
{
	unsigned unit = 100;
	uint64_t n;

	if (!(x >= 0 && x < 1e9)) {
		spw_text_put(t, x < 0 ? "below 0" : x >= 1e9 ? "far too much"
							     : "no number");
		return;
	}
	n = (uint64_t)(1000 * x + 0.5);
	spw_text_u64(t, n / 1000);
	n %= 1000;
	if (n)
		spw_text_putc(t, '.');
	for (; n; n %= unit, unit /= 10)
		spw_text_putc(t, (char)('0' + n / unit));
}

static int
refuse_share(const char *name, double share, struct spw_text *t)
{
	spw_text_fmt(t, "weight of %s is ", name);
	put_share(t, share);
	spw_text_put(t, "; a weight is from 0 to 1");
	return -EINVAL;
}

static int
refuse_sum(const struct spw_weights *w, double sum, struct spw_text *t)
{
	spw_text_put(t, "weights ");
	put_share(t, w->compress);
	spw_text_putc(t, ',');
	put_share(t, w->ratio);
	spw_text_putc(t, ',');
	put_share(t, w->decompress);
	spw_text_put(t, " add up to ");
	put_share(t, sum);
	spw_text_put(t, ", not to 1");
	return -EINVAL;
}

int
spw_weights_check(struct spw_weights *w, char *why, size_t cap)
{
	double sum = w->compress + w->ratio + w->decompress;
	struct spw_text t;

	spw_text_init(&t, why, cap);
	if (!(w->compress >= 0 && w->compress <= 1 + SLACK))
		return refuse_share("compress", w->compress, &t);
	if (!(w->ratio >= 0 && w->ratio <= 1 + SLACK))
		return refuse_share("ratio", w->ratio, &t);
	if (!(w->decompress >= 0 && w->decompress <= 1 + SLACK))
		return refuse_share("decompress", w->decompress, &t);
	if (sum < 1 - SLACK || sum > 1 + SLACK)
		return refuse_sum(w, sum, &t);
	w->compress /= sum;
	w->ratio /= sum;
	w->decompress /= sum;
	return 0;
}

/* Digits with a point among them or not, in any locale, and what must follow
 * them; NULL: it is not there.
 */
static const char *
read_share(const char *p, char after, double *ret)
{
	double unit = 0, x = 0;
	size_t digits = 0;

	for (;; p++) {
		if (*p == '.' && !unit) {
			unit = 1;
			continue;
		}
		if (*p < '0' || *p > '9')
			break;
		x = 10 * x + (*p - '0');
		unit *= 10;
		digits++;
	}
	if (!digits || digits > 15 || *p != after)
		return NULL;
	*ret = unit ? x / unit : x;
	return after ? p + 1 : p;
}

int
spw_weights_parse(const char *text, struct spw_weights *ret, char *why,
		  size_t cap)
{
	struct spw_weights w;
	const char *p = text;
	struct spw_text t;
	int r;

	for (size_t i = 0; i < PRESETS; i++)
		if (!strcmp(text, presets[i].name)) {
			*ret = presets[i].weights;
			return 0;
		}
	if (!(p = read_share(p, ',', &w.compress)) ||
	    !(p = read_share(p, ',', &w.ratio)) ||
	    !read_share(p, '\0', &w.decompress)) {
		spw_text_init(&t, why, cap);
		spw_text_put(&t, "weights are async, archive, "
			     "read-after-write, balanced, or three numbers "
			     "such as 0.3,0.4,0.3");
		return -EINVAL;
	}
	r = spw_weights_check(&w, why, cap);
	if (r < 0)
		return r;
	*ret = w;
	return 0;
}

enum { SHARE_BITS = 20, WORD_BITS = 21 };

#define WHOLE ((uint64_t)1 << SHARE_BITS)
#define MASK (((uint64_t)1 << WORD_BITS) - 1)

static uint64_t
put_bits(double share, unsigned place)
{
	return (uint64_t)(share * (double)WHOLE + 0.5) << place * WORD_BITS;
}

uint64_t
spw_weights_pack(const struct spw_weights *w)
{
	return put_bits(w->compress, 0) | put_bits(w->ratio, 1) |
	       put_bits(w->decompress, 2);
}

void
spw_weights_unpack(uint64_t word, struct spw_weights *ret)
{
	double c = (double)(word & MASK);
	double r = (double)(word >> WORD_BITS & MASK);
	double d = (double)(word >> 2 * WORD_BITS);
	double sum = c + r + d;

	if (sum < (double)WHOLE - 2 || sum > (double)WHOLE + 2)
		(void)spw_weights_parse("balanced", ret, NULL, 0);
	else
		*ret = (struct spw_weights){ c / sum, r / sum, d / sum };
}
