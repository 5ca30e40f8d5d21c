/* SPDX-License-Identifier: BSD-3-Clause */
/* decisions.c -- the log of what the drainer decided, a ring in the segment */
#include "shm/decisions.h"

#include <string.h>

enum { WORDS = sizeof(struct spw_decision) / 8 };

/* What follows the stamp. Word by word: it may be read meanwhile. */
static void
move_words(const struct spw_decision *from, struct spw_decision *to)
{
	const uint64_t *f = (const uint64_t *)from;
	uint64_t *t = (uint64_t *)to;

	for (int i = 1; i < WORDS; i++)
		__atomic_store_n(&t[i], __atomic_load_n(&f[i],
							__ATOMIC_RELAXED),
				 __ATOMIC_RELAXED);
}

static void
put_path(struct spw_decision *d, const char *path)
{
	size_t n = strlen(path), cap = sizeof(d->path) - 1;

	memset(d->path, 0, sizeof(d->path));
	memcpy(d->path, path + (n > cap ? n - cap : 0), n > cap ? cap : n);
}

void
spw_decision_note(struct spw_map *map, const struct spw_decision *d,
		  const char *path)
{
	uint64_t number = atomic_load(&map->seg->decisions);
	struct spw_decision copy, *at;

	if (!map->fixed.ndecisions)
		return;
	move_words(d, &copy);
	put_path(&copy, path);
	at = &map->decisions[number & (map->fixed.ndecisions - 1)];
	atomic_store(&at->stamp, 2 * number + 1);
	atomic_thread_fence(memory_order_release);
	move_words(&copy, at);
	/* Who sees this sees the words above. */
	atomic_store_explicit(&at->stamp, 2 * number + 2,
			      memory_order_release);
	atomic_store(&map->seg->decisions, number + 1);
}

uint64_t
spw_decision_count(const struct spw_map *map)
{
	return map->fixed.ndecisions ? atomic_load(&map->seg->decisions) : 0;
}

uint64_t
spw_decision_first(const struct spw_map *map)
{
	uint64_t n = spw_decision_count(map);

	return n > map->fixed.ndecisions ? n - map->fixed.ndecisions : 0;
}

bool
spw_decision_get(const struct spw_map *map, uint64_t number,
		 struct spw_decision *ret)
{
	const struct spw_decision *at;

	if (!map->fixed.ndecisions)
		return false;
	at = &map->decisions[number & (map->fixed.ndecisions - 1)];
	if (atomic_load(&at->stamp) != 2 * number + 2)
		return false;
	move_words(at, ret);
	atomic_thread_fence(memory_order_acquire);
	ret->path[sizeof(ret->path) - 1] = '\0';
	atomic_store(&ret->stamp, 2 * number + 2);
	return atomic_load(&at->stamp) == 2 * number + 2;
}

const char *
spw_why_name(unsigned bit)
{
	static const char *const names[] = {
		"chosen", "pinned", "full", "shunned", "sync",
		"through", "failed",
	};

	return bit < sizeof(names) / sizeof(*names) ? names[bit] : "?";
}
