/* SPDX-License-Identifier: BSD-3-Clause */
/* fit.h -- how well predictions fit what is: R squared */

#ifndef SPW_TESTS_FIT_H
#define SPW_TESTS_FIT_H

/* 1 - residual over total sum of squares, of figures or their logarithms. */
struct fit { double n, sum, squares, off; };

static inline void
fit_add(struct fit *fit, double is, double predicted)
{
	fit->n++;
	fit->sum += is;
	fit->squares += is * is;
	fit->off += (is - predicted) * (is - predicted);
}

static inline double
fit_of(const struct fit *fit)
{
	return 1 - fit->off / (fit->squares - fit->sum * fit->sum / fit->n);
}

#endif
