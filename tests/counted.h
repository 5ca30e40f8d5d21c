/* SPDX-License-Identifier: BSD-3-Clause */
/* counted.h -- checks that count what is not true, and go on */

#ifndef SPW_TESTS_COUNTED_H
#define SPW_TESTS_COUNTED_H

#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(cond) \
	do { \
		if (!(cond)) { \
			printf("%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			failures++; \
		} \
	} while (0)

/* Two texts, shown in full when they differ. */
#define SAME(found, wanted) \
	do { \
		const char *f_ = (found), *w_ = (wanted); \
		if (strcmp(f_, w_)) { \
			printf("%s:%d: found:\n%s\nwanted:\n%s\n", __FILE__, \
			       __LINE__, f_, w_); \
			failures++; \
		} \
	} while (0)

#endif
