/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs.c -- a file that other jobs have as well: they bring it home, and all
 * leave it to the kernel */

/*
 * Whoever opens a file that another job claims goes to that job's segment,
 * with a lane there for as long as it takes, and makes the file leave as a
 * process of that job would. The order rules out that two miss each other:
 * one's own claim and a record that the kernel serves come first, then the
 * visit, and only then may the file be cached, if no visitor was here
 * meanwhile (spw_file_return). While it visits, the visitor counts as one who
 * has the file open there; so who opens it next there either finds it left,
 * or is the first one again and looks for claims himself.
 *
 * The segment of a dead job may hold the file's last bytes. They come home
 * first, by an agent for that segment, or the file stays with the kernel.
 */
#include "interpose/jobs.h"

#include "interpose/deep.h"
#include "interpose/leave.h"
#include "shm/claims.h"
#include "shm/lane.h"
#include "shm/proc.h"
#include "shm/text.h"

enum { MOST = 8, LANE_TRIES = 1000 };

struct meeting {
	const struct spw_file_id *id;
	int64_t btime;			/* 0: not known */
	bool alone;			/* result: nobody else has it open */
};

/* Of each job once: it may have written many. */
static void
tell(const struct spw_map *map)
{
	static _Atomic uint64_t told_of;
	char line[128];
	struct spw_text t;

	if (atomic_exchange(&told_of, map->fixed.created) ==
	    map->fixed.created)
		return;
	spw_text_init(&t, line, sizeof(line));
	spw_text_fmt(&t, "the dead job %s had written to a file that is "
		     "opened now; its bytes come home first  [W165]",
		     map->fixed.job);
	spw_front_say(line, 0);
}

/* A job that has ended is not dead while an agent brings its bytes home. */
static bool
is_served(const struct spw_map *map)
{
	int fd = spw_seg_lock_byte(map, SPW_LOCK_BYTE_DRAINER);

	if (fd >= 0)
		spw_seg_unlock_byte(fd, SPW_LOCK_BYTE_DRAINER);
	return fd == -EAGAIN;
}

/* The dead have the file open until a drainer has taken stock. */
static int
bury(struct spw_me *me, uint32_t file)
{
	if (spw_proc_any_other(me->map, 0))
		return 0;
	if (spw_file_is_unsettled(&me->map->files[file]) &&
	    !is_served(me->map))
		tell(me->map);
	return spw_gate_ask(me, file);
}

/* Whether nobody there has it open afterwards. */
static bool
part(struct spw_me *me, const struct meeting *m)
{
	uint32_t left, file = spw_file_visit(me, m->id);
	const struct spw_file *f;
	int r;

	if (file == SPW_NONE)
		return true;
	f = &me->map->files[file];
	if (f->btime && m->btime && f->btime != m->btime) {
		(void)spw_file_close(me, file);
		return true;		/* another file had this number */
	}
	r = bury(me, file);
	if (r == 0)
		r = spw_leave_file(me, file, SPW_BYPASS_OTHER_JOB);
	left = spw_file_close(me, file);
	/* Stale: it was removed, which means that all was home. */
	return r == -ESTALE || (r == 0 && !left);
}

static bool
visit(const struct spw_claimant *who, const struct meeting *m,
      struct spw_claims *claims)
{
	struct spw_map map;
	struct spw_me me;
	bool alone = false;
	int r = spw_seg_attach(who->path, &map);

	if (r == 0 && (map.ino != who->ino ||
		       map.fixed.created != who->created)) {
		spw_seg_detach(&map);
		r = -ENOENT;
	}
	if (r == -ENOENT) {
		spw_claim_void(claims, who, m->id);
		return true;
	}
	if (r < 0)
		return false;
	map.claims = claims;
	for (int i = 0; i < LANE_TRIES; i++) {
		r = spw_lane_claim(&map, SPW_NONE, &me);
		if (r == 0)
			break;
		spw_sys_sleep_us(1000);
	}
	if (r == 0) {
		alone = part(&me, m);
		spw_lane_release(&me);
	}
	spw_seg_detach(&map);
	return alone;
}

static void
meet(void *arg)
{
	struct spw_map *map = atomic_load(&spw_front.attached)
			      ? &spw_front.map : NULL;
	struct spw_claims *claims = spw_front_claims();
	struct spw_claimant who[MOST];
	struct meeting *m = arg;
	unsigned n = claims ? spw_claim_others(claims, map, m->id, who, MOST)
			    : 0;

	m->alone = n <= MOST;
	for (unsigned i = 0; i < SPW_MIN(n, (unsigned)MOST); i++)
		m->alone = visit(&who[i], m, claims) && m->alone;
}

void
spw_jobs_meet(struct spw_me *me, uint32_t file, int fd,
	      const struct spw_file_seen *seen)
{
	struct meeting m = { .id = &seen->id, .btime = seen->btime };

	spw_guard_enter();
	spw_deep_call(meet, &m);
	spw_guard_leave();
	if (!m.alone || !spw_file_return(me, file, fd))
		spw_bypass_count(me->map, SPW_BYPASS_OTHER_JOB);
}

void
spw_jobs_settle_path(int dirfd, const char *path)
{
	struct spw_file_id id;
	struct meeting m = { .id = &id };
	struct stat st;

	if (!path || !spw_front_claims() ||
	    spw_sys_fstatat(dirfd, path, &st, 0) < 0 ||
	    !S_ISREG(st.st_mode))
		return;
	id = (struct spw_file_id){ st.st_dev, st.st_ino };
	spw_guard_enter();
	spw_deep_call(meet, &m);
	spw_guard_leave();
}
