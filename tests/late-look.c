/* SPDX-License-Identifier: BSD-3-Clause */
/* late-look.c -- looks at a file, lets a segment appear, and looks again */

/*
 *	late-look FILE SEGMENT
 *
 * The segment is SEGMENT.away at first, so that the time it takes to make one
 * does not count. Prints both sizes.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/clocks.h"
#include "tests/forms.h"

static long
size_of(const char *path)
{
	struct stat st;

	NEED(stat(path, &st) == 0);
	return (long)st.st_size;
}

int
main(int argc, char **argv)
{
	char away[4096];
	double began;
	long before;

	NEED(argc == 3);
	snprintf(away, sizeof(away), "%s.away", argv[2]);
	before = size_of(argv[1]);
	NEED(syscall(SYS_rename, away, argv[2]) == 0);
	for (began = now(); now() - began < 0.0005;)
		;
	printf("%ld %ld\n", before, size_of(argv[1]));
	return 0;
}
