/* SPDX-License-Identifier: BSD-3-Clause */
/* names.c -- up to two paths of a file, changed so that one always counts */
#include "shm/names.h"

#include <string.h>

#include "shm/failpoint.h"
#include "shm/guard.h"
#include "shm/lock.h"
#include "shm/util.h"

/* The gate as a plain lock: paths do not disturb those inside. */
static bool
enter(struct spw_me *me, uint32_t file, uint32_t gen)
{
	struct spw_file *f = &me->map->files[file];

	spw_guard_enter();
	spw_lock(me, SPW_LOCK_GATE, &f->gate);
	if (f->gen == gen)
		return true;
	spw_unlock(&f->gate);
	spw_guard_leave();
	return false;
}

static void
leave(struct spw_me *me, uint32_t file)
{
	spw_unlock(&me->map->files[file].gate);
	spw_guard_leave();
}

static const char *
place_of(const struct spw_file *f, int which, uint32_t len)
{
	return which ? f->path + SPW_FILE_PATH - 1 - len : f->path;
}

static uint32_t
length_of(const struct spw_file *f, int which)
{
	uint32_t len = atomic_load_explicit(which ? &f->alt_len : &f->path_len,
					    memory_order_acquire);

	return len < SPW_FILE_PATH ? len : 0;
}

static void
set_length(struct spw_file *f, int which, uint32_t len)
{
	/* After the text it speaks of, before the other place is emptied. */
	atomic_store(which ? &f->alt_len : &f->path_len, len);
}

static bool
is_at(const struct spw_file *f, int which, const char *path, uint32_t len)
{
	return length_of(f, which) == len &&
	       memcmp(place_of(f, which, len), path, len) == 0;
}

static bool
fits(uint32_t len, uint32_t other)
{
	return len && len < SPW_FILE_PATH &&
	       (!other || len + 1 + other + 1 <= SPW_FILE_PATH);
}

static void
put(struct spw_file *f, int which, const char *path, uint32_t len)
{
	set_length(f, which, 0);
	memcpy((char *)place_of(f, which, len), path, len + 1);
	SPW_FAILPOINT("name-text");
	set_length(f, which, len);
	SPW_FAILPOINT("name-put");
}

/* Into the empty place; if both are taken, the one at the end gives way. */
static bool
add(struct spw_file *f, const char *path, uint32_t len)
{
	int which = length_of(f, 0) != 0;

	if (is_at(f, 0, path, len) || is_at(f, 1, path, len))
		return true;
	if (!fits(len, length_of(f, !which)))
		return false;
	put(f, which, path, len);
	return true;
}

bool
spw_name_add(struct spw_me *me, uint32_t file, uint32_t gen, const char *path)
{
	struct spw_file *f = &me->map->files[file];
	bool added;

	if (!enter(me, file, gen))
		return true;
	added = add(f, path, (uint32_t)strlen(path));
	leave(me, file);
	return added;
}

/* A path normally lies at the start, where people look for it. */
static void
move_to_start(struct spw_file *f, const char *path, uint32_t len)
{
	if (length_of(f, 0) || !fits(len, len))
		return;
	put(f, 0, path, len);
	set_length(f, 1, 0);
}

void
spw_name_set(struct spw_me *me, uint32_t file, uint32_t gen, const char *path)
{
	struct spw_file *f = &me->map->files[file];
	uint32_t len = (uint32_t)strlen(path);

	if (!len || len >= SPW_FILE_PATH || !enter(me, file, gen))
		return;
	if (!add(f, path, len)) {	/* too long for two at a time */
		set_length(f, 1, 0);
		put(f, 0, path, len);
	}
	set_length(f, is_at(f, 0, path, len), 0);
	move_to_start(f, path, len);
	leave(me, file);
}

void
spw_name_remove(struct spw_me *me, uint32_t file, uint32_t gen,
		const char *path)
{
	struct spw_file *f = &me->map->files[file];
	uint32_t len = (uint32_t)strlen(path);

	if (!enter(me, file, gen))
		return;
	for (int i = 0; i < 2; i++)
		if (is_at(f, i, path, len) && length_of(f, !i))
			set_length(f, i, 0);
	leave(me, file);
}

bool
spw_name_has(const struct spw_file *f, const char *path)
{
	uint32_t len = (uint32_t)strlen(path);

	return is_at(f, 0, path, len) || is_at(f, 1, path, len);
}

bool
spw_name_has_other(const struct spw_file *f, const char *path)
{
	uint32_t len = (uint32_t)strlen(path);

	for (int i = 0; i < 2; i++)
		if (length_of(f, i) && !is_at(f, i, path, len))
			return true;
	return false;
}

uint32_t
spw_name_copy(const struct spw_file *f, int which, char buf[SPW_FILE_PATH])
{
	uint32_t len = length_of(f, which);

	if (!len)
		return 0;
	memcpy(buf, place_of(f, which, len), len);
	buf[len] = '\0';
	return len;
}
