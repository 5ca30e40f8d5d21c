/* SPDX-License-Identifier: BSD-3-Clause */
/* list-features.c -- prints the optional parts: list-features [directory] */

#include <unistd.h>

#include "tiers/features.h"

int
main(int argc, char **argv)
{
	return spw_features_print(STDOUT_FILENO, argc > 1 ? argv[1] : NULL) < 0;
}
