/* SPDX-License-Identifier: BSD-3-Clause */
/* join.c -- the segment that a run works in: made, or joined */
#include "tools/join.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "shm/jobend.h"
#include "shm/machine.h"
#include "shm/proc.h"
#include "shm/sys.h"
#include "shm/util.h"
#include "tools/segments.h"
#include "tools/show.h"

enum {
	NAMES = 10,			/* JOB, JOB.1 .. JOB.9 */
	RACES = 100,			/* made and removed under our hands */
	TOLD = 3,			/* dead jobs at a start, unless -v */
};

static void
report(const struct spw_segment *s, bool color)
{
	char files[SPW_SHOW_MAX];
	struct spw_diag d;

	if (s->state == SPW_SEGMENT_UNREADABLE) {
		spw_diag_begin(&d, SPW_WARNING, SPW_W161);
		spw_diag_subject(&d, "segment %e", s->path);
		spw_diag_cause(&d, "%s; left alone",
			       spw_segment_trouble(s->err));
	} else {
		spw_diag_begin(&d, SPW_WARNING, SPW_W160);
		spw_diag_subject(&d, "segment %e", s->job);
		spw_diag_cause(&d, "is left over from a dead job: ");
		if (s->left.bytes)
			spw_diag_cause(&d, "%z in %s not home",
				       s->left.bytes,
				       spw_show_count(s->left.files, "file",
						      files));
		else
			spw_diag_cause(&d, "all in it is home");
		spw_diag_hint(&d, "spillway recover %e (%s)", s->job,
			      s->left.bytes ? "writes it home"
					    : "removes it");
	}
	spw_diag_print(&d, color, STDERR_FILENO);
}

static bool
is_worth_a_word(const struct spw_segment *s, unsigned verbose)
{
	if (s->state == SPW_SEGMENT_UNREADABLE)
		return true;
	return s->state == SPW_SEGMENT_DEAD && (s->left.bytes || verbose);
}

void
spw_join_report_dead(const struct spw_config *cfg, bool color)
{
	struct spw_segment *list;
	size_t n, told = 0;

	if (spw_segments_list(cfg->shm_dir, &list, &n) < 0)
		return;			/* making one will say why */
	for (size_t i = 0; i < n; i++) {
		if (!is_worth_a_word(&list[i], cfg->verbose))
			continue;
		if (told++ < TOLD || cfg->verbose)
			report(&list[i], color);
	}
	if (told > TOLD && !cfg->verbose)
		fprintf(stderr, "spillway: and %zu more: spillway status\n",
			told - TOLD);
	spw_segments_free(list, n);
}

/* 1: joined; 0: not usable, take another name; or a negative errno. */
static int
join_living(const char *path, struct spw_joined *ret)
{
	struct spw_segment s;
	int r = spw_segment_look(path, &s);

	if (r < 0)
		return r;
	if (s.state == SPW_SEGMENT_UNREADABLE)
		return 0;
	if (s.state == SPW_SEGMENT_DEAD) {
		spw_segment_drop(&s);
		return 0;
	}
	r = spw_proc_join(&s.map, &ret->proc);
	if (r < 0) {
		spw_segment_drop(&s);
		return r == -EBUSY ? 0 : r;
	}
	ret->map = s.map;
	atomic_store(&ret->map.procs[ret->proc].stands_by, 1);
	return 1;
}

static int
make(const struct spw_seg_request *req, struct spw_joined *ret)
{
	int r = spw_seg_create(req, &ret->map);

	if (r < 0)
		return r;
	r = spw_proc_join(&ret->map, &ret->proc);
	if (r < 0) {
		spw_seg_detach(&ret->map);
		return r;
	}
	atomic_store(&ret->map.procs[ret->proc].stands_by, 1);
	return 1;
}

/* As join_living. A segment may come or go between two looks. */
static int
make_or_join(const struct spw_seg_request *req, struct spw_joined *ret)
{
	char path[SPW_SEG_PATH_MAX];
	int r = spw_seg_path(req->dir, req->job, path, sizeof(path));

	for (int i = 0; r == 0 && i < RACES; i++) {
		r = make(req, ret);
		if (r == -EEXIST)
			r = join_living(path, ret);
		else if (r != -ENOENT && r != -ESTALE)
			return r;
		if (r != -ENOENT && r != -ESTALE)
			return r;
		r = 0;
		spw_sys_sleep_us(1000);
	}
	return r < 0 ? r : -EAGAIN;
}

/* One that fits, and leaves as much to others. */
static void
suggest(struct spw_diag *d, uint64_t room, const char *otherwise)
{
	if (room / 2 < SPW_RAM_MIN)
		spw_diag_hint(d, "%s", otherwise);
	else
		spw_diag_hint(d, "a smaller tier: ram@%uM",
			      (unsigned)(room / 2 >> 20));
}

static uint64_t
largest_file(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) < 0 ? 0 : limit.rlim_cur;
}

static const char elsewhere[] = "another place in memory: --shm-dir DIR";

static void
explain_size(const struct spw_config *cfg, uint64_t bytes, int err,
	     struct spw_diag *d)
{
	uint64_t space = 0;

	spw_diag_begin(d, SPW_ERROR, SPW_E150);
	spw_diag_subject(d, "tier ram");
	spw_diag_cause(d, "segment of %z does not fit, ", bytes);
	if (err == -ENOMEM) {
		spw_diag_cause(d, "the address space is limited (ulimit -v)");
		spw_diag_hint(d, "a smaller tier, such as ram@32M");
		return;
	}
	(void)spw_machine_space(cfg->shm_dir, &space);
	spw_diag_cause(d, "%e has %z", cfg->shm_dir, space);
	suggest(d, space, elsewhere);
	spw_diag_hint(d, ", or docker run --shm-size=10g");
}

static void
explain_place(const struct spw_config *cfg, uint64_t bytes, int err,
	      struct spw_diag *d)
{
	spw_diag_begin(d, SPW_ERROR, SPW_E151);
	spw_diag_subject(d, "%e", cfg->shm_dir);
	if (err == -EPERM)
		spw_diag_cause(d, "spillway.%u in it is not a directory of "
			       "yours with mode 0700", spw_sys_geteuid());
	else if (err == -EFBIG)
		spw_diag_cause(d, "a segment of %z is larger than files may "
			       "be (ulimit -f)", bytes);
	else
		spw_diag_cause(d, "cannot make a segment there: %s",
			       spw_diag_errno(-err));
	if (err == -EFBIG)
		suggest(d, largest_file(), "raise it: ulimit -f unlimited");
	else
		spw_diag_hint(d, "%s", elsewhere);
}

/* Whether the user named what is at fault; else it is the machine. */
static bool
is_asked_for(const struct spw_config *cfg, int err)
{
	bool tiers = cfg->origin[SPW_OPTION_TIERS].from != SPW_FROM_BUILTIN;
	bool place = cfg->origin[SPW_OPTION_SHM_DIR].from != SPW_FROM_BUILTIN;

	switch (err) {
	case -ENAMETOOLONG: case -EEXIST:
		return true;
	case -ENOMEM: case -EFBIG:
		return tiers;
	case -EMFILE: case -ENFILE: case -EAGAIN: case -ENOLCK: case -ENOSYS:
		return false;
	default:
		return place || (err == -ENOSPC && tiers);
	}
}

static int
explain(const struct spw_config *cfg, uint64_t bytes, int err,
	struct spw_diag *d)
{
	if (err == -ENOSPC || err == -ENOMEM)
		explain_size(cfg, bytes, err, d);
	else
		explain_place(cfg, bytes, err, d);
	if (!is_asked_for(cfg, err))
		d->severity = SPW_WARNING;
	return err;
}

static uint64_t
ram_bytes(const struct spw_tierlist *tiers)
{
	for (unsigned i = 0; i < tiers->n; i++)
		if (tiers->tier[i].kind == SPW_KIND_RAM)
			return tiers->tier[i].capacity;
	return SPW_RAM_MIN;
}

/* JOB, JOB.1, JOB.2 ...; the same for every rank that finds them dead. */
static void
number(char *ret_name, const char *base, int i)
{
	char tail[12] = "";		/* a point and ten digits */

	if (i > 0)
		snprintf(tail, sizeof(tail), ".%d", i);
	snprintf(ret_name, SPW_JOB_MAX + 1, "%.*s%s",
		 (int)(SPW_JOB_MAX - strlen(tail)), base, tail);
}

int
spw_join(struct spw_config *cfg, const struct spw_tierlist *tiers,
	 struct spw_joined *ret, struct spw_diag *ret_diag)
{
	char base[SPW_JOB_MAX + 1], below[SPW_SEG_TIERS];
	char seed[SPW_SEG_SEED];
	uint64_t bytes = ram_bytes(tiers);
	struct spw_seg_request req = {
		.dir = cfg->shm_dir, .job = cfg->job, .bytes = bytes,
		.delay_ms = (uint32_t)(cfg->drain_delay / 1000000),
		.workers = spw_config_workers(cfg),
		.ends = spw_jobend_find(environ),
		.margin_ms = (uint32_t)(cfg->drain_margin / 1000000),
		.keep = cfg->at_exit == SPW_AT_EXIT_KEEP,
		.tiers = below, .below = spw_tierspec_below(tiers),
		.weights = spw_config_weights(cfg),
		.seed = spw_config_seed(cfg, environ, seed) ? seed : NULL,
	};

	if (spw_tierspec_write(tiers, below, sizeof(below)) < 0)
		return explain(cfg, bytes, -ENAMETOOLONG, ret_diag);

	strcpy(base, cfg->job);
	for (int i = 0; i < NAMES; i++) {
		int r;

		number(cfg->job, base, i);
		r = make_or_join(&req, ret);
		if (r > 0)
			return 0;
		if (r < 0)
			return explain(cfg, bytes, r, ret_diag);
	}
	return explain(cfg, bytes, -EEXIST, ret_diag);
}
