/* SPDX-License-Identifier: BSD-3-Clause */
/* replays.c -- recovering from the tiers: what is said and done */
#include "tools/replays.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/sys.h"
#include "shm/util.h"
#include "tiers/apart.h"
#include "tiers/codec.h"
#include "tools/chosen.h"
#include "tools/commands.h"
#include "tools/opening.h"
#include "tools/show.h"

enum {
	SHOWN = 20,			/* files, unless -v */
	RANGES = 8,			/* of a file, in a message */
	BUSY_MS = 1000, BUSY_US = 5000,	/* how long in all, between looks */
};

/* By the time in their names. */
static bool
is_older(const struct spw_replay *a, const struct spw_replay *b)
{
	const char *x = strrchr(a->owner, '.'), *y = strrchr(b->owner, '.');

	return x && y && strtoull(x + 1, NULL, 16) <
	       strtoull(y + 1, NULL, 16);
}

const char *
spw_replays_job(const struct spw_replay *r, char buf[256])
{
	snprintf(buf, 256, "%s", r->owner);
	if (strrchr(buf, '.'))
		*strrchr(buf, '.') = '\0';
	return buf;
}

static const char *
why(int err)
{
	return err == -EBADMSG ? "damaged" : err == -ETIMEDOUT
	       ? "does not answer" : err == -EAGAIN
	       ? "is home, and stays beside what cannot be read"
	       : spw_diag_errno(-err);
}

static const char *
why_object(const struct spw_replay_object *o)
{
	return o->missing ? "missing: somebody removed it" : why(o->err);
}

static void
say(const struct spw_args *args, const char *job, int err)
{
	if (err == -EBUSY)
		spw_chosen_say(args, SPW_WARNING, SPW_W167, job, "its shares "
			       "in the tiers are in use: it lives elsewhere, "
			       "or another recovery is at work", NULL);
	else if (err == -ETIMEDOUT)
		spw_chosen_say(args, SPW_WARNING, SPW_W167, job, "a tier does "
			       "not answer; what is there stays there",
			       "when it does: spillway recover");
	else
		spw_chosen_say(args, SPW_WARNING, SPW_W167, job,
			       spw_diag_errno(-err), NULL);
}

/* Where there are no locks, the owner may be alive on another node. */
static bool
is_doubtful(const struct spw_args *args, const struct spw_replay *r,
	    bool force, const char *job)
{
	if (force || !spw_replay_is_unlocked(r))
		return false;
	spw_chosen_say(args, SPW_WARNING, SPW_W167, job, "no locks on the "
		       "file system of a tier: nothing tells whether the job "
		       "lives on another node", "when it is dead: spillway "
		       "recover --force");
	return true;
}

bool
spw_replays_is_needed(const struct spw_replay *r)
{
	for (size_t i = 0; i < r->nobjects; i++) {
		const struct spw_replay_object *o = &r->objects[i];

		if (o->file == SPW_REPLAY_UNKNOWN || !r->files[o->file].kept)
			return true;
	}
	return !r->nobjects;
}

/* A holder that was killed a moment ago lets go when its last write is over;
 * one that lives is not waited for, nor are many of them one by one. */
static int
open_share(const struct spw_shares *shares, const struct spw_share_owner *o,
	   bool quiet, int64_t *patience_ms, struct spw_replay **ret)
{
	int64_t since = spw_now_ms();
	int err;

	while ((err = spw_opening(shares->place, shares->nplaces, o->name,
				  false, quiet, ret)) == -EBUSY &&
	       spw_now_ms() - since < *patience_ms)
		spw_sys_sleep_us(BUSY_US);
	if (err == -EBUSY)
		*patience_ms = 0;
	return err;
}

static int
open_one(const struct spw_shares *shares, const struct spw_share_owner *o,
	 int64_t *patience_ms, struct spw_replays *all)
{
	struct spw_replay *r;
	int err = open_share(shares, o, all->args->cfg.quiet, patience_ms, &r);

	if (err == -ENOENT)		/* somebody else was faster */
		return SPW_EXIT_OK;
	if (err < 0) {
		say(all->args, o->job, err);
		return SPW_EXIT_PARTLY;
	}
	if (is_doubtful(all->args, r, all->force, o->job)) {
		(void)spw_replay_close(r, false);
		return SPW_EXIT_PARTLY;
	}
	r->unseen = shares->unreachable;
	spw_replay_look_home(r);
	all->needed += spw_replays_is_needed(r);
	all->list[all->n++] = r;
	return SPW_EXIT_OK;
}

/* What a dead job that nobody asked for has of the same files, and older, is
 * to come home before; to look at it disturbs nobody. */
static void
look_beside(const struct spw_shares *shares, const struct spw_args *args,
	    struct spw_replays *all)
{
	size_t n = shares->n;

	while (n && (shares->owner[n - 1].has_segment ||
		     !spw_shares_is_meant(&shares->owner[n - 1], args)))
		n--;
	for (size_t i = 0; i < n; i++) {
		const struct spw_share_owner *o = &shares->owner[i];
		struct spw_replay *r;

		if (o->has_segment || spw_shares_is_meant(o, args) ||
		    spw_opening(shares->place, shares->nplaces, o->name, true,
				args->cfg.quiet, &r) < 0)
			continue;
		if (spw_replay_is_held(r)) {
			(void)spw_replay_close(r, false);
			continue;
		}
		spw_replay_look_home(r);
		all->beside[all->nbeside++] = r;
	}
}

int
spw_replays_open(const struct spw_shares *shares, const struct spw_args *args,
		 bool force, struct spw_replays *ret)
{
	int status = shares->unreachable ? SPW_EXIT_UNREACHABLE : SPW_EXIT_OK;
	int64_t patience_ms = BUSY_MS;

	*ret = (struct spw_replays){ .args = args, .force = force };
	ret->list = calloc(shares->n + 1, sizeof(*ret->list));
	ret->outcome = calloc(shares->n + 1, sizeof(*ret->outcome));
	ret->beside = calloc(shares->n + 1, sizeof(*ret->beside));
	if (!ret->list || !ret->outcome || !ret->beside)
		return SPW_EXIT_PARTLY;
	for (size_t i = 0; i < shares->n; i++) {
		const struct spw_share_owner *o = &shares->owner[i];

		if (!o->has_segment && spw_shares_is_meant(o, args) &&
		    open_one(shares, o, &patience_ms, ret))
			status = SPW_EXIT_PARTLY;
	}
	if (ret->n)
		look_beside(shares, args, ret);
	return status;
}

static void
show_file(const struct spw_replay_file *f)
{
	char size[SPW_SHOW_MAX];

	printf("  %9s  ", spw_show_size(f->bytes, size));
	if (*f->path)
		spw_show_name(stdout, f->path);
	else
		printf("inode %llu", (unsigned long long)f->id.ino);
	putchar('\n');
}

static void
show_one(const struct spw_replay *r, unsigned verbose)
{
	char files[SPW_SHOW_MAX], bytes[SPW_SHOW_MAX], job[256];
	uint32_t shown = 0, more = 0;

	spw_replays_job(r, job);
	if (r->kept)
		printf("%s: %s of %s kept in its tiers: spillway stage out\n",
		       job, spw_show_count(r->kept, "file", files),
		       spw_show_size(r->kept_bytes, bytes));
	if (!spw_replays_is_needed(r))
		return;
	printf("%s: segment gone, ", job);
	if (!spw_replay_is_needed(r)) {
		puts("all in its tiers is home");
		return;
	}
	for (uint32_t i = 0; i < r->nfiles; i++)
		more += r->files[i].bytes > 0 && !r->files[i].kept;
	printf("%s in %s in the tiers\n", spw_show_size(r->bytes, bytes),
	       spw_show_count(more, "file", files));
	for (uint32_t i = 0; i < r->nfiles; i++) {
		if (!r->files[i].bytes || r->files[i].kept ||
		    (!verbose && shown == SHOWN))
			continue;
		show_file(&r->files[i]);
		shown++;
	}
	if (shown < more)
		printf("  and %u more; -v lists all\n", more - shown);
}

void
spw_replays_show(const struct spw_replays *all)
{
	for (size_t i = 0; i < all->n; i++)
		show_one(all->list[i], all->args->cfg.verbose);
}

static void
name_file(struct spw_diag *d, const struct spw_replay *r, uint32_t file)
{
	if (file == SPW_REPLAY_UNKNOWN)
		spw_diag_subject(d, "an unknown file");
	else if (*r->files[file].path)
		spw_diag_subject(d, "%e", r->files[file].path);
	else
		spw_diag_subject(d, "inode %l", r->files[file].id.ino);
}

void
spw_replays_blame(const struct spw_args *args, const struct spw_replay *r,
		  const struct spw_replay_object *o)
{
	struct spw_diag d;

	spw_diag_begin(&d, SPW_WARNING, SPW_W169);
	name_file(&d, r, o->file);
	if (o->file != SPW_REPLAY_UNKNOWN)
		spw_diag_cause(&d, "bytes %l to %l, ", o->offset,
			       o->offset + o->length);
	spw_diag_cause(&d, "tier %s, %e: %s", spw_apart_kind(r->tier[o->tier]),
		       o->where ? o->where : r->place[o->tier],
		       why_object(o));
	spw_diag_print(&d, args->color, STDERR_FILENO);
}

static void
list_ranges(struct spw_diag *d, const struct spw_replay *r,
	    const struct spw_replay_file *f)
{
	const struct spw_replay_object *o = &r->objects[f->first];
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->n; i++) {
		if (o[i].gone || o[i].old || !o[i].length)
			continue;
		if (n++ < RANGES)
			spw_diag_cause(d, "%s%l to %l", n == 1
				       ? "; kept: bytes " : ", ",
				       o[i].offset,
				       o[i].offset + o[i].length);
	}
	if (n > RANGES)
		spw_diag_cause(d, " and %u more", n - RANGES);
}

static void
blame_codec(struct spw_diag *d, uint8_t id)
{
	const struct spw_codec_slot *slot = NULL;

	for (size_t i = 0; (slot = spw_codec_slot(i)) && slot->id != id; i++)
		;
	if (slot && !slot->codec)
		spw_diag_cause(d, "is packed by %s, which is missing: %e",
			       slot->name, slot->finding.text);
	else
		spw_diag_cause(d, "is packed in a way that this release does "
			       "not know");
}

/* Home has neither them nor anything that keeps them from coming later. */
static bool
waits(const struct spw_replay_file *f)
{
	return f && f->err && f->err != -EBADMSG && f->err != -ENOENT &&
	       f->err != -EEXIST;
}

/* An older share that still has pieces of the file, which would come over
 * those of share number k; NULL: there is none. */
static const struct spw_replay *
find_older(const struct spw_replays *all, size_t k,
	   const struct spw_replay_file *f)
{
	const struct spw_replay_file *same;

	for (size_t i = 0; i < k; i++)
		if (waits(spw_replay_same(all->list[i], &f->id)))
			return all->list[i];
	for (size_t i = 0; i < all->nbeside; i++) {
		same = spw_replay_same(all->beside[i], &f->id);
		if (same && is_older(all->beside[i], all->list[k]) &&
		    spw_replay_is_due(all->beside[i], same))
			return all->beside[i];
	}
	return NULL;
}

static void
blame_file(const struct spw_replays *all, size_t k, uint32_t file)
{
	const struct spw_replay *r = all->list[k], *older;
	const struct spw_replay_file *f = &r->files[file];
	struct spw_diag d;
	char job[256], tier[PATH_MAX + 32];
	struct stat st;

	spw_diag_begin(&d, SPW_WARNING, SPW_W168);
	name_file(&d, r, file);
	if (f->err == -ENOENT)
		spw_diag_cause(&d, lstat(f->path, &st) == 0
			       ? "another file has its name, restored or "
			       "written anew; it is nowhere near"
			       : "is not there, and nowhere near");
	else if (f->err == -EEXIST)
		spw_diag_cause(&d, "was changed by somebody since the job "
			       "died");
	else if (f->err == -ELIBACC)
		blame_codec(&d, r->missing);
	else if (f->err == -EDEADLK && (older = find_older(all, k, f)))
		spw_diag_cause(&d, "job %e has older pieces of it, which are "
			       "to come home before",
			       spw_replays_job(older, job));
	else if (f->err == -ETIMEDOUT && spw_replay_stalls(r, tier,
							   sizeof(tier)))
		spw_diag_cause(&d, "%e, has some of it and does not answer",
			       tier);
	else
		spw_diag_cause(&d, "%s", spw_diag_errno(-f->err));
	list_ranges(&d, r, f);
	if (f->err == -EEXIST)
		spw_diag_hint(&d, "to write over it: spillway recover "
			      "--force %e", spw_replays_job(r, job));
	spw_diag_print(&d, all->args->color, STDERR_FILENO);
}

struct progress {
	struct spw_progress line;
	uint64_t left;
};

static void
step(void *arg, uint64_t bytes)
{
	struct progress *p = arg;

	p->left -= SPW_MIN(bytes, p->left);
	spw_progress_show(&p->line, p->left);
}

static int
bring_file(struct spw_replays *all, size_t k, uint32_t file,
	   const struct spw_replay_step *each)
{
	struct spw_replay_file *f = &all->list[k]->files[file];

	if (f->bytes && !f->kept && !all->force && find_older(all, k, f))
		return f->err = -EDEADLK;
	return spw_replay_bring(all->list[k], file, all->force, each);
}

static void
bring_files(struct spw_replays *all, size_t k)
{
	struct spw_replay *r = all->list[k];
	struct spw_outcome *res = &all->outcome[k];
	char job[256], what[256 + 16];
	struct progress p = { .left = r->bytes };
	struct spw_replay_step each = { step, &p };

	snprintf(what, sizeof(what), "recover %s", spw_replays_job(r, job));
	spw_progress_begin(&p.line, what, all->args->cfg.quiet);
	spw_progress_show(&p.line, p.left);
	for (uint32_t i = 0; i < r->nfiles; i++) {
		uint64_t before = p.left;
		int err = bring_file(all, k, i, &each);

		if (err && err != -EBADMSG && err != -EAGAIN) {
			res->kept++;
			continue;
		}
		res->files += before > p.left;
		res->bytes += before - p.left;
	}
	spw_progress_end(&p.line);
}

void
spw_replays_bring(struct spw_replays *all)
{
	for (size_t i = 0; i < all->n; i++)
		bring_files(all, i);
}

static void
count_left(const struct spw_replay *r, struct spw_outcome *res)
{
	for (size_t i = 0; i < r->nobjects; i++) {
		const struct spw_replay_object *o = &r->objects[i];

		if (o->gone || o->old || (o->file != SPW_REPLAY_UNKNOWN &&
					  r->files[o->file].kept))
			continue;
		res->left += o->length;
		res->damaged += o->err != 0;
	}
}

static void
explain_doubt(const struct spw_args *args, const struct spw_replay *r,
	      const char *job)
{
	const char *hint = "when it can be read: spillway recover; to give it "
			   "up: spillway clean --force";
	const char *what = "what cannot be read";
	char cause[128];

	for (size_t i = 0; i < r->nobjects; i++)
		if (r->objects[i].missing && !r->objects[i].gone) {
			what = "what is missing";
			hint = "when it is back: spillway recover; to give it "
			       "up: spillway fsck --repair";
		}
	if (r->unseen) {
		what = "what is in the other tier";
		hint = "when that is back, or with --tiers without it: "
		       "spillway recover";
	}
	snprintf(cause, sizeof(cause), "all of its pieces stay, also those "
		 "that are home: %s may belong between them", what);
	spw_chosen_say(args, SPW_WARNING, SPW_W167, job, cause, hint);
}

static void
tell(const struct spw_replays *all, size_t k)
{
	const struct spw_replay *r = all->list[k];
	const struct spw_outcome *res = &all->outcome[k];
	char files[SPW_SHOW_MAX], bytes[SPW_SHOW_MAX], job[256];

	for (uint32_t i = 0; i < r->nfiles; i++)
		if (r->files[i].err && r->files[i].err != -EBADMSG &&
		    r->files[i].err != -EAGAIN)
			blame_file(all, k, i);
	for (size_t i = 0; i < r->nobjects; i++)
		if (r->objects[i].err && !r->objects[i].gone)
			spw_replays_blame(all->args, r, &r->objects[i]);
	spw_replays_job(r, job);
	if (spw_replay_is_doubtful(r) && res->left)
		explain_doubt(all->args, r, job);
	if (all->args->cfg.quiet)
		return;
	if (res->files || res->kept || res->damaged)
		printf("%s: recovered %s, %s from its tiers, checksums ok\n",
		       job, spw_show_count(res->files, "file", files),
		       spw_show_size(res->bytes, bytes));
	else
		printf("%s: nothing was missing; its shares removed\n", job);
}

void
spw_replays_put_object(struct spw_json *j, const struct spw_replay *r,
		       const struct spw_replay_object *o)
{
	spw_json_open(j, NULL, '{');
	spw_json_string(j, "tier", spw_apart_kind(r->tier[o->tier]));
	if (o->file != SPW_REPLAY_UNKNOWN) {
		spw_json_string(j, "file", r->files[o->file].path);
		spw_json_number(j, "inode", r->files[o->file].id.ino);
		spw_json_number(j, "offset", o->offset);
		spw_json_number(j, "length", o->length);
	}
	spw_json_string(j, "where", o->where ? o->where : r->place[o->tier]);
	if (o->err)
		spw_json_string(j, "error", o->missing ? "missing"
				: why(o->err));
	else if (o->file != SPW_REPLAY_UNKNOWN && r->files[o->file].err)
		spw_json_string(j, "error", r->files[o->file].err == -EEXIST
				? "changed later" : why(r->files[o->file].err));
	spw_json_close(j, '}');
}

static void
put_json(struct spw_json *j, const struct spw_replay *r,
	 const struct spw_outcome *res, bool tried)
{
	char job[256];

	spw_json_open(j, NULL, '{');
	spw_json_string(j, "job", spw_replays_job(r, job));
	spw_json_string(j, "share", r->owner);
	spw_json_number(j, "files", r->nfiles);
	spw_json_number(j, "bytes", r->bytes);
	spw_json_bool(j, "recovered", tried && !res->left && !res->damaged &&
		      !res->kept);
	spw_json_number(j, "bytes_recovered", res->bytes);
	spw_json_number(j, "bytes_left", res->left);
	spw_json_number(j, "files_kept", r->kept);
	spw_json_number(j, "bytes_kept", r->kept_bytes);
	spw_json_open(j, "kept", '[');
	for (size_t i = 0; i < r->nobjects; i++)
		if (tried && !r->objects[i].gone && !r->objects[i].old &&
		    (r->objects[i].file == SPW_REPLAY_UNKNOWN ||
		     !r->files[r->objects[i].file].kept))
			spw_replays_put_object(j, r, &r->objects[i]);
	spw_json_close(j, ']');
	spw_json_close(j, '}');
}

static int
conclude_one(struct spw_replays *all, size_t k, bool agreed,
	     struct spw_json *j)
{
	struct spw_replay *r = all->list[k];
	struct spw_outcome *res = &all->outcome[k];
	bool ok = true;

	count_left(r, res);
	if (j)
		put_json(j, r, res, agreed);
	if (agreed && !j && spw_replays_is_needed(r))
		tell(all, k);
	if (agreed)
		ok = !res->left && !res->damaged && !res->kept;
	return ok ? SPW_EXIT_OK : SPW_EXIT_PARTLY;
}

static int
close_one(struct spw_replays *all, struct spw_replay *r, bool tidy)
{
	char job[256];
	int err;

	spw_replays_job(r, job);
	err = spw_replay_close(r, tidy);
	if (err)
		say(all->args, job, err);
	return err ? SPW_EXIT_PARTLY : SPW_EXIT_OK;
}

int
spw_replays_conclude(struct spw_replays *all, bool agreed, struct spw_json *j)
{
	int status = SPW_EXIT_OK;

	for (size_t i = 0; i < all->n; i++)
		if (conclude_one(all, i, agreed, j))
			status = SPW_EXIT_PARTLY;
	for (size_t i = 0; i < all->n; i++)
		if (close_one(all, all->list[i], agreed) && agreed)
			status = SPW_EXIT_PARTLY;
	for (size_t i = 0; i < all->nbeside; i++)
		(void)spw_replay_close(all->beside[i], false);
	free(all->list);
	free(all->outcome);
	free(all->beside);
	*all = (struct spw_replays){ .args = all->args };
	return status;
}
