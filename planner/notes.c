/* SPDX-License-Identifier: BSD-3-Clause */
/* notes.c -- home says itself which objects of a file count no more */

/*
 * Objects go when home has their bytes. But a tier that fails keeps them, and
 * so does one that was there for a drainer and is not for its successor; and
 * who replays them later puts older bytes over younger ones. Where no tier
 * can be told that they count no more (release.c), home is: by an extended
 * attribute of the file, a line for each share
 *
 *	SHARE NUMBER	objects up to that number are older than this file
 *
 * Home is durable before it says so, and says so durably. The line goes when
 * the objects have gone; if that is never, it stays, and does no harm: no
 * share has its name again. For a home without such attributes a file beside
 * it says it (beside.h); times could not tell what is older (replay.c).
 */
#include "planner/notes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/aside.h"
#include "planner/attr.h"
#include "planner/beside.h"
#include "planner/store.h"
#include "shm/failpoint.h"
#include "shm/files.h"
#include "shm/sys.h"
#include "shm/util.h"

#define NAME	"user.spillway.home"

enum { TEXT = 2048 };			/* some file systems take no more */

struct writing {
	int fd;
	uint64_t number;		/* 0: the line goes */
	char share[SPW_STORE_SHARE];
};

/* The share's line in the text, and what is after it; NULL: none. */
static char *
find_line(char *text, const char *share, char **ret_next)
{
	size_t n = strlen(share);

	for (char *line = text; *line; line = *ret_next) {
		*ret_next = line + strcspn(line, "\n");
		*ret_next += **ret_next == '\n';
		if (!strncmp(line, share, n) && line[n] == ' ')
			return line;
	}
	return NULL;
}

static int
read_text(int fd, char text[TEXT])
{
	int n = spw_attr_get(fd, NAME, text, TEXT - 1);

	text[SPW_MAX(n, 0)] = '\0';
	return n == -ENODATA ? 0 : n;
}

uint64_t
spw_note_read(int fd, const char *share)
{
	char text[TEXT], *next, *line;

	if (read_text(fd, text) <= 0)
		return spw_beside_get(fd, share);
	line = find_line(text, share, &next);
	return line ? strtoull(line + strlen(share), NULL, 10) : 0;
}

/* Those of others stay, the youngest, as many as fit. */
static int
change_line(const struct writing *w)
{
	char text[TEXT], mine[SPW_STORE_SHARE + 24] = "", *next, *line;
	int n = read_text(w->fd, text);

	if (n < 0)
		return n;
	line = find_line(text, w->share, &next);
	if (line)
		memmove(line, next, strlen(next) + 1);
	if (w->number)
		snprintf(mine, sizeof(mine), "%s %llu\n", w->share,
			 (unsigned long long)w->number);
	line = text;
	while (strlen(line) + strlen(mine) >= TEXT)
		line += strcspn(line, "\n") + 1;
	memmove(text, line, strlen(line) + 1);
	strcat(text, mine);
	return *text ? spw_attr_set(w->fd, NAME, text, strlen(text))
		     : spw_attr_remove(w->fd, NAME);
}

static int
sync_file(int fd)
{
	return (int)spw_syscall(SYS_fsync, fd, 0, 0, 0, 0, 0);
}

static int64_t
write_note(void *arg)
{
	const struct writing *w = arg;
	int r = w->number ? sync_file(w->fd) : 0;

	if (r == 0)
		r = change_line(w);
	if (r == -EOPNOTSUPP)
		r = spw_beside_set(w->fd, w->share, w->number);
	SPW_FAILPOINT("note-written");
	return r == 0 ? sync_file(w->fd) : r;
}

/* Not what is needed of an object: bytes that home has not. */
static uint64_t
number_up_to(struct spw_drainer *d, uint32_t file, uint64_t seq)
{
	const struct spw_store *s = d->store;
	uint64_t number = SPW_MIN(seq, atomic_load(&d->map->seg->sequence));

	for (uint32_t i = s->of_file[file]; i; i = s->held[i].next)
		if (s->held[i].nrefs && s->held[i].o->seq <= number)
			number = s->held[i].o->seq - 1;
	return number;
}

bool
spw_notes_are_due(struct spw_drainer *d, uint32_t file)
{
	uint32_t flags = atomic_load(&d->map->files[file].flags);

	return !(flags & SPW_FILE_UNLINKED) &&
	       (spw_home_of(d, file)->dropped ||
		(d->store->partial && flags & SPW_FILE_COPIED));
}

void
spw_notes_tend(struct spw_drainer *d, uint32_t file, uint64_t seq)
{
	struct spw_home *h = spw_home_of(d, file);
	struct spw_file *f = &d->map->files[file];
	bool due = spw_notes_are_due(d, file);
	struct writing w = { .number = due ? number_up_to(d, file, seq) : 0 };
	int64_t r;

	if (due ? w.number <= h->note
		: !(atomic_load(&f->flags) & SPW_FILE_NOTED))
		return;
	w.fd = spw_home_open(d, file);
	if (w.fd < 0)
		return;
	spw_store_share(d->map, w.share);
	if (due)
		spw_file_flag(f, SPW_FILE_NOTED);
	r = spw_aside_call(d->aside, f->dev, write_note, &w, sizeof(w), NULL);
	if (due && r == 0)
		h->note = w.number;
	if (!due && (r == 0 || r == -ENODATA)) {
		atomic_fetch_and(&f->flags, ~(uint32_t)SPW_FILE_NOTED);
		h->note = 0;
	}
}
