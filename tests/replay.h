/* SPDX-License-Identifier: BSD-3-Clause */
/* replay.h -- runs a fuzz target over files, or over its corpus, changed too */

#ifndef SPW_TESTS_REPLAY_H
#define SPW_TESTS_REPLAY_H

#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/guarded.h"

/* Files made of each of the corpus, and seconds for all of them together. */
enum { REPLAY_MADE = 3000, REPLAY_SECONDS = 5 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* What is being run, for who wants to see it again; empty: it is over. */
static char replay_now[4200];
static unsigned replay_runs;

static inline void
replay_tell(void)
{
	(void)!write(STDERR_FILENO, replay_now, strlen(replay_now));
}

static inline void
replay_killed(int signal)
{
	replay_tell();
	raise(signal);			/* the handler is gone by now */
}

static inline void
replay_bytes(const uint8_t *data, size_t n)
{
	uint8_t *exact = malloc(n ? n : 1);	/* its end is its end */

	CHECK(exact);
	memcpy(exact, data, n);
	(void)LLVMFuzzerTestOneInput(exact, n);
	free(exact);
	replay_runs++;
}

static inline uint64_t
replay_draw(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	return *seed ^= *seed << 17;
}

/* Some bytes become others, come twice, or are gone.  Bytes left. */
static inline size_t
replay_change(uint8_t *data, size_t n, uint64_t *seed)
{
	static const uint8_t odd[] = { 0, 1, 0x7f, 0x80, 0xff };
	size_t at = replay_draw(seed) % n, len = replay_draw(seed) % (n - at);
	uint64_t byte = replay_draw(seed);

	switch (replay_draw(seed) % 8) {
	case 0:
		return at + 1;			/* cut */
	case 1:
		memmove(data + at, data + at + len, n - at - len);
		return n - len;
	case 2:
		memmove(data + replay_draw(seed) % (n - len), data + at, len);
		return n;
	case 3:
	case 4:
		data[at] = odd[byte % sizeof(odd)];
		return n;
	case 5:
		data[at] = (uint8_t)byte;
		return n;
	default:
		data[at] ^= (uint8_t)(1 << byte % 8);
		return n;
	}
}

/* The same ones in every run, as far as time allows. */
static inline void
replay_changed(const char *path, const uint8_t *data, size_t n, time_t end)
{
	uint8_t *changed = malloc(n ? n : 1);

	CHECK(changed);
	for (uint64_t i = 1; n > 1 && i <= REPLAY_MADE && time(NULL) < end;
	     i++) {
		uint64_t seed = i * UINT64_C(0x9e3779b97f4a7c15);
		size_t left = n;

		snprintf(replay_now, sizeof(replay_now), "%s, change %u\n",
			 path, (unsigned)i);
		memcpy(changed, data, n);
		for (uint64_t k = i % 4; k < 4 && left > 1; k++)
			left = replay_change(changed, left, &seed);
		replay_bytes(changed, left);
	}
	free(changed);
}

/* end: until then, what is like it as well. */
static inline void
replay_file(const char *path, size_t largest, time_t end)
{
	uint8_t *data = malloc(largest + 1);
	FILE *file = fopen(path, "rb");
	size_t n;

	CHECK(data && file);
	n = fread(data, 1, largest + 1, file);
	fclose(file);
	snprintf(replay_now, sizeof(replay_now), "%s\n", path);
	replay_bytes(data, n);
	replay_changed(path, data, n, end);
	free(data);
}

static inline void
replay_corpus(const char *name, size_t largest)
{
	const char *srcdir = getenv("srcdir");
	const struct dirent *entry;
	const time_t end = time(NULL) + REPLAY_SECONDS;
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
		replay_file(path, largest, end);
		files++;
	}
	closedir(d);
	printf("%d files, %u runs\n", files, replay_runs);
	CHECK(files > 0);
}

/* The files named by the arguments; without any, tests/corpus/<name>, and each
 * of these changed in many ways.
 */
static inline void
replay(int argc, char **argv, const char *name, size_t largest)
{
	const struct sigaction tells = { .sa_handler = replay_killed,
					 .sa_flags = (int)SA_RESETHAND };
	int i;

	CHECK(!atexit(replay_tell));
	(void)sigaction(SIGABRT, &tells, NULL);
	(void)sigaction(SIGSEGV, &tells, NULL);
	for (i = 1; i < argc; i++)
		replay_file(argv[i], largest, 0);
	if (argc == 1)
		replay_corpus(name, largest);
	replay_now[0] = '\0';
}

#endif
