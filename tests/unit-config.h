/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-config.h -- checks that the unit tests of the settings share */

#ifndef SPW_TESTS_UNIT_CONFIG_H
#define SPW_TESTS_UNIT_CONFIG_H

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
