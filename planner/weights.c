/* SPDX-License-Identifier: BSD-3-Clause */
/* weights.c -- presets, and weights as users write them */

#include "planner/weights.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

static int
refuse_share(const char *name, double share, char *why, size_t cap)
{
	(void)snprintf(why, cap, "weight of %s is %g; a weight is from 0 to 1",
		       name, share);
	return -EINVAL;
}

int
spw_weights_check(struct spw_weights *w, char *why, size_t cap)
{
	double sum = w->compress + w->ratio + w->decompress;

	if (!(w->compress >= 0 && w->compress <= 1 + SLACK))
		return refuse_share("compress", w->compress, why, cap);
	if (!(w->ratio >= 0 && w->ratio <= 1 + SLACK))
		return refuse_share("ratio", w->ratio, why, cap);
	if (!(w->decompress >= 0 && w->decompress <= 1 + SLACK))
		return refuse_share("decompress", w->decompress, why, cap);
	if (fabs(sum - 1) > SLACK) {
		(void)snprintf(why, cap, "weights %g,%g,%g add up to %g, "
			       "not to 1", w->compress, w->ratio,
			       w->decompress, sum);
		return -EINVAL;
	}
	w->compress /= sum;
	w->ratio /= sum;
	w->decompress /= sum;
	return 0;
}

/* Reads one number and what must follow it; NULL: it is not there. */
static const char *
read_share(const char *p, char after, double *ret)
{
	static locale_t plain;
	char *end;

	if (!plain)
		plain = newlocale(LC_NUMERIC_MASK, "C", NULL);
	if (!strchr("0123456789.", *p) || !*p)
		return NULL;
	*ret = plain ? strtod_l(p, &end, plain) : strtod(p, &end);
	if (end == p || *end != after)
		return NULL;
	return after ? end + 1 : end;
}

int
spw_weights_parse(const char *text, struct spw_weights *ret, char *why,
		  size_t cap)
{
	struct spw_weights w;
	const char *p = text;
	int r;

	for (size_t i = 0; i < PRESETS; i++)
		if (!strcmp(text, presets[i].name)) {
			*ret = presets[i].weights;
			return 0;
		}
	if (!(p = read_share(p, ',', &w.compress)) ||
	    !(p = read_share(p, ',', &w.ratio)) ||
	    !read_share(p, '\0', &w.decompress)) {
		(void)snprintf(why, cap, "weights are async, archive, "
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
