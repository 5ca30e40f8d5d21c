/* SPDX-License-Identifier: BSD-3-Clause */
/* slowfs-knobs.c -- the settings of slowfs as text */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/slowfs-knobs.h"

#define NUMBER(key, name) { key, offsetof(struct knobs, name), 0 }
#define PATTERN(key, name) { key, offsetof(struct knobs, name), 1 }

static const struct key {
	const char *key;
	size_t offset;
	int is_pattern;
} keys[] = {
	NUMBER("bandwidth", bandwidth),
	NUMBER("latency", latency),
	NUMBER("short", shorten),
	NUMBER("enospc-after", enospc_after),
	NUMBER("edquot-after", edquot_after),
	NUMBER("eio-after", eio_after),
	NUMBER("no-attributes", no_attributes),
	PATTERN("only", only),
	PATTERN("eio-write", eio_write),
	PATTERN("eio-read", eio_read),
	PATTERN("eio-fsync", eio_fsync),
	PATTERN("stall", stall),
	PATTERN("stall-change", stall_change),
	PATTERN("stall-find", stall_find),
	PATTERN("stall-statfs", stall_statfs),
	PATTERN("vanish", vanish),
};

#define NKEYS (sizeof(keys) / sizeof(keys[0]))

static int64_t *
number_of(const struct key *key, const struct knobs *k)
{
	return (int64_t *)((char *)k + key->offset);
}

static char *
pattern_of(const struct key *key, const struct knobs *k)
{
	return (char *)k + key->offset;
}

static int
set_one(const struct key *key, const char *value, struct knobs *ret_k)
{
	int64_t n;
	char *end;

	if (key->is_pattern) {
		strcpy(pattern_of(key, ret_k), value);
		return 0;
	}
	errno = 0;
	n = strtoll(value, &end, 10);
	if (end == value || *end || errno)
		return -EINVAL;
	*number_of(key, ret_k) = n;
	return 0;
}

int
knobs_parse(const char *line, size_t n, struct knobs *ret_k)
{
	char text[PATTERN_SIZE];
	char *value;
	size_t i;

	if (n >= sizeof(text))
		return -EINVAL;
	memcpy(text, line, n);
	text[n] = 0;
	value = strchr(text, '=');
	if (!value)
		return -EINVAL;
	*value++ = 0;
	for (i = 0; i < NKEYS; i++)
		if (!strcmp(text, keys[i].key))
			return set_one(&keys[i], value, ret_k);
	return -EINVAL;
}

size_t
knobs_print(const struct knobs *k, char *buf, size_t size)
{
	size_t i, used = 0;

	for (i = 0; i < NKEYS && used < size; i++)
		if (keys[i].is_pattern)
			used += (size_t)snprintf(buf + used, size - used,
				"%s=%s\n", keys[i].key,
				pattern_of(&keys[i], k));
		else
			used += (size_t)snprintf(buf + used, size - used,
				"%s=%" PRId64 "\n", keys[i].key,
				*number_of(&keys[i], k));
	return used < size ? used : size;
}
