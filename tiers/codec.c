/* SPDX-License-Identifier: BSD-3-Clause */
/* codec.c -- the codecs there are */

#include "tiers/codec.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* By id; "x" as a module is codec-x.so. */
static struct spw_codec_slot slots[SPW_CODECS] = {
	{ SPW_CODEC_NONE, "none", &spw_codec_none, { .text = "built in" }, 0 },
#define X(c, number, name, low, high) [number] = \
	{ number, name, NULL, { .text = "not looked for yet" }, 0 },
	SPW_CODEC_LINES(X)
#undef X
};

int64_t
spw_codec_encode(const struct spw_codec *codec, void *ctx, int level,
		 void *dst, size_t cap, const void *src, size_t n)
{
	if (level < codec->min_level || level > codec->max_level ||
	    n > SPW_CODEC_MAX)
		return -EINVAL;
	if (cap > INT_MAX)		/* more than any bound */
		cap = INT_MAX;
	return codec->encode(ctx, level, dst, cap, src, n);
}

int
spw_codec_decode(const struct spw_codec *codec, void *ctx, void *dst,
		 size_t len, const void *src, size_t n)
{
	if (len > SPW_CODEC_MAX || n > SPW_CODEC_MAX)
		return -EBADMSG;
	return codec->decode(ctx, dst, len, src, n);
}

/* One that was built with the engine belongs where this is. */
static bool
was_built(const char *name)
{
	char file[40];

	(void)snprintf(file, sizeof(file), "%s.la", name);
	return strstr(SPW_MODULES, file);
}

/* The module has to be the one our line means: its id goes into storage. */
static void
load(struct spw_codec_slot *slot, const char *dir)
{
	const struct spw_module *m;
	char name[32];

	(void)snprintf(name, sizeof(name), "codec-%s", slot->name);
	slot->error = spw_module_open(dir, name, &m, &slot->finding);
	if (slot->error == -ENOENT && was_built(name))
		slot->error = -ELIBACC;
	if (slot->error < 0)
		return;
	if (!m->codec || m->codec->id != slot->id ||
	    strcmp(m->codec->name, slot->name)) {
		(void)snprintf(slot->finding.text, sizeof(slot->finding.text),
			       "%s.so holds another codec", name);
		slot->error = -ELIBBAD;
		return;
	}
	slot->codec = m->codec;
}

int
spw_codec_load(const char *module_dir)
{
	char dir[PATH_MAX];
	int present = 0;
	size_t i;

	if (spw_module_dir(module_dir, dir, sizeof(dir)) < 0)
		dir[0] = '\0';
	for (i = 0; i < ARRAY_LEN(slots); i++) {
		if (!slots[i].codec)
			load(&slots[i], dir);
		present += slots[i].codec != NULL;
	}
	return present;
}

const struct spw_codec_slot *
spw_codec_slot(size_t i)
{
	return i < ARRAY_LEN(slots) ? &slots[i] : NULL;
}

const struct spw_codec *
spw_codec_by_id(uint8_t id)
{
	return id < ARRAY_LEN(slots) ? slots[id].codec : NULL;
}

const struct spw_codec *
spw_codec_by_name(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(slots); i++)
		if (!strcmp(slots[i].name, name))
			return slots[i].codec;
	return NULL;
}

const struct spw_codec_choice *
spw_codec_pool(size_t i)
{
	for (size_t k = 0; k < ARRAY_LEN(slots); k++) {
		const struct spw_codec_choice *at =
			slots[k].codec ? slots[k].codec->choices : NULL;

		for (; at && at->speed; at++)
			if (!i--)
				return at;
	}
	return NULL;
}
