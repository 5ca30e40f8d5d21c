/* SPDX-License-Identifier: BSD-3-Clause */
/* log.c -- what was decided, and what came of it, told to the segment's log */
#include "planner/store.h"
#include "shm/decisions.h"
#include "shm/names.h"
#include "shm/util.h"

enum { AGAIN_MS = 1000 };

void
spw_log_begin(struct spw_down *down)
{
	down->why = (struct spw_decision){ 0 };
	down->sent_ns = 0;
	down->planned = false;
	down->queued = 0;
}

void
spw_log_down(struct spw_drainer *d, struct spw_down *down)
{
	const struct spw_pack_job *job = &down->pack;
	struct spw_decision *w = &down->why;

	w->dev = down->o.dev;
	w->ino = down->o.ino;
	w->offset = down->o.offset;
	w->length = down->o.length;
	w->object = down->o.seq;
	w->when = spw_file_time();
	w->tier = (uint8_t)d->store->level[down->tier].number;
	w->codec = job->pack.codec;
	w->level = (int8_t)job->pack.level;
	w->filter = job->pack.filter;
	w->width = job->pack.width;
	w->stored = job->stored > 0 ? (uint64_t)job->stored : 0;
	w->pack = job->seconds;
	w->err = down->err;	/* x is the tier's while it is late */
	if (w->err)
		w->why |= SPW_WHY_FAILED;
	if (down->sent_ns)
		w->write = (double)((down->err ? spw_now_ns()
					       : down->x.ended) -
				    down->sent_ns) / 1e9;
	down->path[down->o.path_len] = '\0';
	spw_decision_note(d->map, w, down->path);
}

/* The same bytes may find no room again and again: told now and then. */
void
spw_log_through(struct spw_drainer *d, const struct spw_down *down)
{
	struct spw_store *s = d->store;
	struct spw_decision w = down->why;
	char path[SPW_FILE_PATH];
	int64_t now = spw_now_ms();

	w.why |= SPW_WHY_THROUGH;
	w.dev = down->o.dev;
	w.ino = down->o.ino;
	w.offset = down->o.offset;
	w.length = down->o.length;
	w.when = spw_file_time();
	w.tier = SPW_DECISION_HOME;
	if (now - s->told_through < AGAIN_MS && w.ino == s->through_ino &&
	    w.offset == s->through_offset)
		return;
	s->told_through = now;
	s->through_ino = w.ino;
	s->through_offset = w.offset;
	if (!spw_name_copy(&d->map->files[down->file], 0, path))
		path[0] = '\0';
	spw_decision_note(d->map, &w, path);
}
