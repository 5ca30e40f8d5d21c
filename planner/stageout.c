/* SPDX-License-Identifier: BSD-3-Clause */
/* stageout.c -- kept bytes brought home: a stub becomes its file again */
#include <errno.h>
#include <string.h>

#include "planner/replay-parts.h"
#include "shm/failpoint.h"
#include "shm/sys.h"
#include "shm/util.h"

static uint32_t
find_file(const struct spw_replay *r, const struct spw_stub *s)
{
	for (uint32_t i = 0; i < r->nfiles; i++)
		if (r->files[i].id.ino == s->ino &&
		    r->files[i].id.btime == s->btime && r->files[i].n)
			return i;
	return SPW_REPLAY_UNKNOWN;
}

/* Every object that there was, with every byte. */
static int
check(struct spw_replay *r, const struct spw_stub *s, uint32_t file)
{
	struct spw_replay_object *o;
	const struct spw_replay_file *f;

	if (file == SPW_REPLAY_UNKNOWN)
		return -ENODATA;
	f = &r->files[file];
	o = &r->objects[f->first];
	if (f->n != s->objects || o[f->n - 1].file_size != s->size)
		return -ENODATA;
	for (uint32_t i = 0; i < f->n; i++) {
		spw_replay_check(r, &o[i]);
		if (o[i].err)
			return o[i].err;
	}
	return 0;
}

static int
bring(struct spw_replay *r, int fd, struct spw_stub *s, uint32_t file,
      const struct spw_replay_step *step)
{
	int err = spw_stub_note(fd, s, SPW_STUB_COMING);

	SPW_FAILPOINT("stage-coming");
	if (err == 0)
		err = spw_sys_ftruncate(fd, 0);
	if (err == 0)
		err = spw_replay_apply(r, file, fd, step);
	SPW_FAILPOINT("stage-applied");
	if (err == 0)
		err = spw_stub_note(fd, s, SPW_STUB_HOME);
	else
		(void)spw_stub_remake(fd, s);	/* if not, it says so */
	return err;
}

int
spw_replay_stage_out(struct spw_replay *r, int fd, struct spw_stub *s,
		     bool force, const struct spw_replay_step *step)
{
	uint32_t file = find_file(r, s);
	int err = 0;

	if (s->state != SPW_STUB_HOME) {
		err = check(r, s, file);
		if (err == 0 && !force && spw_stub_is_changed(fd, s))
			err = -EEXIST;
		if (err == 0)
			err = bring(r, fd, s, file, step);
	}
	SPW_FAILPOINT("stage-home");
	if (err == 0 && file != SPW_REPLAY_UNKNOWN)
		err = spw_replay_drop_file(r, file);
	SPW_FAILPOINT("stage-dropped");
	return err ? err : spw_stub_end(fd, s);
}

static bool
is_stub_of(const struct spw_replay *r, int fd)
{
	struct spw_stub s;

	return spw_stub_read(fd, &s) == 0 && !strcmp(s.share, r->owner);
}

bool
spw_replay_is_orphaned(struct spw_replay *r)
{
	bool any = false;

	for (uint32_t i = 0; i < r->nfiles; i++) {
		int fd;

		if (!r->files[i].n)
			continue;
		any = true;
		fd = spw_replay_find(r, &r->files[i]);
		if (fd == -ENOENT)
			continue;
		if (fd >= 0)
			spw_sys_close(fd);
		return false;
	}
	return any;
}

void
spw_replay_look_home(struct spw_replay *r)
{
	for (uint32_t i = 0; i < r->nfiles; i++) {
		struct spw_replay_file *f = &r->files[i];
		int fd = f->n ? spw_replay_find(r, f) : -ENOENT;

		if (fd < 0)
			continue;
		f->kept = is_stub_of(r, fd);
		if (f->kept) {
			r->kept++;
			r->kept_bytes += f->bytes;
			r->bytes -= f->bytes;
		} else {
			spw_replay_heed(r, f, fd);
		}
		spw_sys_close(fd);
	}
}
