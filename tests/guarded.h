/* SPDX-License-Identifier: BSD-3-Clause */
/* guarded.h -- checks, repeatable data, and buffers that end at a wall */

#ifndef SPW_TESTS_GUARDED_H
#define SPW_TESTS_GUARDED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHECK(cond)							\
	do {								\
		if (!(cond)) {						\
			fprintf(stderr, "%s:%d: not true: %s\n",	\
				__FILE__, __LINE__, #cond);		\
			exit(1);					\
		}							\
	} while (0)

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* The same numbers on every run and machine (splitmix64). */
static inline uint64_t
draw(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* A buffer whose end touches an unreadable page: one byte too far is a
 * fault, also in code that no sanitizer has seen.
 */
struct guarded {
	uint8_t *map;
	size_t map_len;
	size_t room;		/* largest buffer it can give */
};

static inline struct guarded
guarded_new(size_t room)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct guarded g = { .map_len = (room / page + 2) * page };

	g.room = g.map_len - page;
	g.map = mmap(NULL, g.map_len, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(g.map != MAP_FAILED);
	CHECK(!mprotect(g.map + g.room, page, PROT_NONE));
	return g;
}

static inline uint8_t *
guarded_buf(const struct guarded *g, size_t n)
{
	CHECK(n <= g->room);
	return g->map + g->room - n;
}

static inline void
guarded_free(struct guarded *g)
{
	munmap(g->map, g->map_len);
}

#endif
