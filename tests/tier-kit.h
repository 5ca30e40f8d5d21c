/* SPDX-License-Identifier: BSD-3-Clause */
/* tier-kit.h -- objects that tell what they hold, to put into tiers */

#ifndef SPW_TESTS_TIER_KIT_H
#define SPW_TESTS_TIER_KIT_H

#include "tiers/tier.h"

enum { KIT_MOST = 1 << 20 };		/* raw bytes of an object here */

/* A buffer as transfers want it, for objects of up to KIT_MOST. */
void *kit_buffer(void);

/* An object whose bytes follow from seq; its stored size. */
size_t kit_make(void *buf, uint64_t seq, size_t raw);

/* The one made with this seq and size, whole and in every byte. */
void kit_check(const void *buf, size_t len, uint64_t seq, size_t raw);

/* Starts a transfer, waits for it, and wants success. */
uint64_t kit_put(struct spw_tier *t, void *buf, size_t len);
void kit_get(struct spw_tier *t, uint64_t place, void *buf, size_t len);

/* An empty directory below $TMPDIR or here; removed with all in it. */
char *kit_directory(const char *below);
void kit_remove(char *dir);

int kit_open(const char *kind, const char *place, const char *owner,
	     uint64_t capacity, struct spw_tier **ret_tier);

/* False: its library is not here. */
bool kit_is_to_be_had(const char *kind, uint64_t capacity);

/* A test in a directory of its own, whose path is in *place meanwhile; says
 * what is tried, and for which kind. */
void kit_run(const char *kind, const char *name, void (*test)(void),
	     char **place);

/* A share that was being discarded when its drainer died shows nothing, and
 * is empty when it is opened. */
void kit_half_discarded(const char *kind, const char *place);

/* What a share holds: objects, stored bytes, damaged ones. */
struct kit_count {
	unsigned whole, bad;
	uint64_t bytes, whole_bytes;
};
struct kit_count kit_count(struct spw_tier *t);

#endif
