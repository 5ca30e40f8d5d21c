/* SPDX-License-Identifier: BSD-3-Clause */
/* glance.h -- reading what somebody may be changing at the same moment */

/*
 * Blocks, chunks and counters are looked at without a lock: to find what is
 * then locked and compared, to copy bytes that count only if a version stayed
 * as it was, or to tell a number that is old when it is told. Such a value is
 * read once into the reader's own memory, since a second look may find
 * another one: an index that was checked is the one that is used.
 *
 * ThreadSanitizer follows neither fences nor versions and would report each
 * of these reads. They are hidden from it here, and nothing else is.
 */
#ifndef SPW_SHM_GLANCE_H
#define SPW_SHM_GLANCE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "shm/sanitized.h"

#ifdef SPW_WITH_TSAN
#define SPW_GLANCE __attribute__((noinline, unused, no_sanitize("thread")))
#else
#define SPW_GLANCE inline
#endif

static SPW_GLANCE uint8_t
spw_glance8(const uint8_t *at)
{
	return *(const volatile uint8_t *)at;
}

static SPW_GLANCE uint32_t
spw_glance32(const uint32_t *at)
{
	return *(const volatile uint32_t *)at;
}

static SPW_GLANCE uint64_t
spw_glance64(const uint64_t *at)
{
	return *(const volatile uint64_t *)at;
}

/* Each byte once, in any order. */
static SPW_GLANCE void
spw_glance_copy(void *to, const void *from, size_t n)
{
#ifdef SPW_WITH_TSAN			/* memcpy is watched in any function */
	for (size_t i = 0; i < n; i++)
		((volatile uint8_t *)to)[i] =
			((const volatile uint8_t *)from)[i];
#else
	memcpy(to, from, n);
#endif
}

#endif
