/* SPDX-License-Identifier: BSD-3-Clause */
/* replay.h -- runs a fuzz target over files, or over its corpus */

#ifndef SPW_TESTS_REPLAY_H
#define SPW_TESTS_REPLAY_H

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/guarded.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static inline void
replay_file(const char *path, size_t largest)
{
	uint8_t *data = malloc(largest + 1), *exact;
	FILE *file = fopen(path, "rb");
	size_t n;

	CHECK(data && file);
	n = fread(data, 1, largest + 1, file);
	fclose(file);
	exact = realloc(data, n ? n : 1);	/* its end is its end */
	CHECK(exact);
	(void)LLVMFuzzerTestOneInput(exact, n);
	free(exact);
}

static inline void
replay_corpus(const char *name, size_t largest)
{
	const char *srcdir = getenv("srcdir");
	const struct dirent *entry;
	char dir[3072], path[4096];
	int files = 0;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/tests/corpus/%s", srcdir ? srcdir : ".",
		 name);
	CHECK(d = opendir(dir));
	while ((entry = readdir(d))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		replay_file(path, largest);
		files++;
	}
	closedir(d);
	printf("%d files\n", files);
	CHECK(files > 0);
}

/* The files named by the arguments; without any, tests/corpus/<name>. */
static inline void
replay(int argc, char **argv, const char *name, size_t largest)
{
	int i;

	for (i = 1; i < argc; i++)
		replay_file(argv[i], largest);
	if (argc == 1)
		replay_corpus(name, largest);
}

#endif
