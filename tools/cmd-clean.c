/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd-clean.c -- spillway clean: remove what nobody needs any more */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/proc.h"
#include "shm/sys.h"
#include "tools/ask.h"
#include "tools/chosen.h"
#include "tools/commands.h"
#include "tools/json.h"
#include "tools/opening.h"
#include "tools/replays.h"
#include "tools/show.h"

static const char usage[] =
	"usage: spillway clean [-n] [-y] [--force] [--json] [OPTION]... [JOB]...\n"
	"\n"
	"Show and, after asking, remove what nobody needs: segments of dead\n"
	"jobs that hold nothing but what is home, and what such jobs left in\n"
	"the tiers. What holds bytes that are not home stays.\n"
	"\n"
	"  spillway clean -n\n"
	"  spillway clean -y --tiers 'nvme:/scratch'\n"
	"  spillway clean --force 482113\n"
	"\n"
	"  -n, --dry-run         show what would go\n"
	"  -y, --yes             do not ask\n"
	"  --force               give up what is not home of the jobs named\n"
	"  --json                write JSON\n"
	"  --help                this text\n";

struct request {
	bool dry, yes, force, json;
	const struct spw_args *args;
	const struct spw_shares *shares;
};

struct item {				/* something that may go */
	const struct spw_segment *segment;	/* or NULL: */
	const struct spw_share_owner *owner;
	uint64_t lost;			/* bytes that are not home */
	bool removed;
	int err;
};

struct items {
	struct item *list;
	size_t n;
	struct item *orphan;		/* what stays, and no file is left of */
	size_t norphans;
	uint64_t kept;			/* what is needed, or in use */
	bool unseen;			/* something could not be looked at */
};

static bool
is_named(const struct spw_args *args, const char *job)
{
	for (int i = 0; i < args->n_rest; i++)
		if (!strcmp(args->rest[i], job))
			return true;
	return false;
}

/* Bytes that are not home go only with the job's name. */
static bool
may_go(const struct request *req, const char *job, bool needed)
{
	return !needed || (req->force && is_named(req->args, job));
}

/* An old one from before the last boot is lost with its memory, or needed by
 * nobody who could read it. One whose maker has yet to join it is missed by
 * him, and made again. */
static bool
is_abandoned(const struct spw_segment *s)
{
	return s->state == SPW_SEGMENT_DEAD || s->state == SPW_SEGMENT_NEW ||
	       s->state == SPW_SEGMENT_UNREADABLE;
}

static void
add_segments(const struct request *req, const struct spw_chosen *c,
	     struct items *all)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct spw_segment *s = &c->list[i];
		bool needed = s->state == SPW_SEGMENT_UNREADABLE ||
			      s->left.bytes || s->left.files;

		if (is_abandoned(s) && may_go(req, s->job, needed))
			all->list[all->n++] = (struct item){
				.segment = s, .lost = s->left.bytes,
			};
		else
			all->kept++;
	}
}

/* 1: may go; 0: it is needed, in use, or gone by now. orphan, if given, is
 * told of one that stays and belongs to no file any more. */
static int
judge_share(const struct request *req, const struct spw_share_owner *o,
	    bool look_only, struct spw_replay **ret, struct item *orphan)
{
	struct spw_replay *r;
	int err = spw_opening(req->shares->place, req->shares->nplaces,
			      o->name, look_only, req->args->cfg.quiet, &r);

	if (err < 0)
		return err == -ENOENT || err == -EBUSY ? 0 : err;
	if (spw_replay_is_held(r)) {
		(void)spw_replay_close(r, false);
		return 0;
	}
	if (may_go(req, o->job, spw_replay_is_needed(r) ||
		   spw_replay_is_unlocked(r))) {
		*ret = r;
		return 1;
	}
	if (orphan && spw_replay_is_orphaned(r))
		*orphan = (struct item){ .owner = o, .lost = r->bytes };
	(void)spw_replay_close(r, false);
	return 0;
}

/* Its segment is given up, and it with that. */
static bool
is_given_up(const struct request *req, const struct items *all,
	    const struct spw_share_owner *o)
{
	for (size_t i = 0; req->force && i < all->n; i++)
		if (all->list[i].segment &&
		    !strcmp(all->list[i].segment->job, o->job))
			return true;
	return false;
}

/* Opened for a moment, with the lock: one that lives is none of ours, and
 * what a dead owner was about to write goes by itself. Not for a dry run. */
static void
add_shares(const struct request *req, struct items *all)
{
	for (size_t i = 0; i < req->shares->n; i++) {
		const struct spw_share_owner *o = &req->shares->owner[i];
		struct item *orphan = &all->orphan[all->norphans];
		struct spw_replay *r;
		int may;

		if (!spw_shares_is_meant(o, req->args))
			continue;
		may = o->has_segment && !is_given_up(req, all, o) ? 0
		      : judge_share(req, o, req->dry, &r, orphan);
		if (may < 0) {
			spw_chosen_say(req->args, SPW_WARNING, SPW_W167,
				       o->job, spw_diag_errno(-may), NULL);
			all->unseen = true;
		}
		if (may <= 0) {
			all->kept++;
			all->norphans += orphan->owner != NULL;
			continue;
		}
		all->list[all->n++] = (struct item){
			.owner = o, .lost = r->bytes,
		};
		(void)spw_replay_close(r, false);
	}
}

/* The drainer's office keeps others out; whoever joins looks for a segment
 * that has one. */
static int
remove_segment(struct item *it)
{
	struct spw_map map = it->segment->map;
	struct spw_drainer *d;
	int r, fd;

	if (it->segment->state == SPW_SEGMENT_UNREADABLE)
		return spw_sys_unlink(it->segment->path);
	if (!it->lost) {
		r = spw_drainer_start(&map, SPW_HOST_RECOVER, &d);
		if (r < 0)
			return r;
		it->removed = spw_segment_remove(&map, NULL);
		spw_drainer_stop(d);
		return it->removed ? 0 : -EBUSY;
	}
	fd = spw_proc_shut_out(&map);
	if (fd < 0)
		return fd;
	r = spw_segment_is_deserted(&map) &&
	    !spw_segment_has_drainer(map.path) ? spw_sys_unlink(map.path)
					       : -EBUSY;
	spw_proc_let_in(&map, fd);
	return r;
}

/* Looked at anew, since it was let go of while we asked. */
static int
remove_share(const struct request *req, const struct item *it)
{
	struct spw_replay *r;
	int may = judge_share(req, it->owner, false, &r, NULL);

	if (may <= 0)
		return may < 0 ? may : -EBUSY;
	for (size_t i = 0; i < r->nobjects; i++)
		r->objects[i].gone = true;
	return spw_replay_close(r, true);
}

static void
put_name(const struct item *it)
{
	if (it->segment) {
		fputs("segment ", stdout);
		spw_show_name(stdout, it->segment->path);
	} else {
		fputs("share ", stdout);
		spw_show_name(stdout, it->owner->name);
	}
}

static void
show(const struct request *req, const struct items *all)
{
	char size[SPW_SHOW_MAX];

	for (size_t i = 0; i < all->n; i++) {
		const struct item *it = &all->list[i];

		put_name(it);
		if (it->lost)
			printf(": %s not home, given up",
			       spw_show_size(it->lost, size));
		else if (it->segment &&
			 it->segment->state == SPW_SEGMENT_UNREADABLE)
			printf(": %s, given up",
			       spw_segment_trouble(it->segment->err));
		else
			fputs(": nothing in it that is not home", stdout);
		putchar('\n');
	}
	for (size_t i = 0; i < all->norphans; i++) {
		const struct item *it = &all->orphan[i];

		put_name(it);
		printf(": %s, and none of its files is to be found; to give "
		       "that up: spillway clean --force ",
		       spw_show_size(it->lost, size));
		spw_show_name(stdout, it->owner->job);
		putchar('\n');
	}
	if (!all->n)
		puts("nothing to clean");
	if (all->kept && req->args->cfg.verbose)
		printf("%llu kept: needed or in use\n",
		       (unsigned long long)all->kept);
}

static void
put_orphans(struct spw_json *j, const struct items *all)
{
	spw_json_open(j, "orphans", '[');
	for (size_t i = 0; i < all->norphans; i++) {
		spw_json_open(j, NULL, '{');
		spw_json_string(j, "job", all->orphan[i].owner->job);
		spw_json_string(j, "name", all->orphan[i].owner->name);
		spw_json_number(j, "bytes", all->orphan[i].lost);
		spw_json_close(j, '}');
	}
	spw_json_close(j, ']');
}

static void
put_json(const struct items *all)
{
	struct spw_json j;

	spw_json_begin(&j, stdout);
	spw_json_open(&j, NULL, '{');
	spw_json_open(&j, "items", '[');
	for (size_t i = 0; i < all->n; i++) {
		const struct item *it = &all->list[i];

		spw_json_open(&j, NULL, '{');
		spw_json_string(&j, "kind", it->segment ? "segment" : "share");
		spw_json_string(&j, "job", it->segment ? it->segment->job
				: it->owner->job);
		spw_json_string(&j, "name", it->segment ? it->segment->path
				: it->owner->name);
		spw_json_number(&j, "bytes_not_home", it->lost);
		spw_json_bool(&j, "removed", it->removed);
		if (it->err)
			spw_json_string(&j, "error", spw_diag_errno(-it->err));
		spw_json_close(&j, '}');
	}
	spw_json_close(&j, ']');
	put_orphans(&j, all);
	spw_json_number(&j, "kept", all->kept);
	spw_json_close(&j, '}');
	spw_json_end(&j);
}

static int
remove_all(const struct request *req, struct items *all)
{
	int status = SPW_EXIT_OK;

	for (size_t i = 0; i < all->n; i++) {
		struct item *it = &all->list[i];

		it->err = it->segment ? remove_segment(it)
				      : remove_share(req, it);
		it->removed = !it->err;
		if (!it->err)
			continue;
		status = SPW_EXIT_PARTLY;
		spw_chosen_say(req->args, SPW_WARNING, SPW_W167, it->segment
			       ? it->segment->job : it->owner->job,
			       it->err == -EBUSY ? "in use, or needed by now; "
			       "kept" : spw_diag_errno(-it->err), NULL);
	}
	return status;
}

static int
clean(const struct request *req, const struct spw_chosen *c)
{
	struct items all = {
		.list = calloc(c->n + req->shares->n + 1, sizeof(*all.list)),
		.orphan = calloc(req->shares->n + 1, sizeof(*all.orphan)),
	};
	int status = SPW_EXIT_OK;

	if (!all.list || !all.orphan) {
		free(all.list);
		free(all.orphan);
		return SPW_EXIT_PARTLY;
	}
	add_segments(req, c, &all);
	add_shares(req, &all);
	if (!req->json && !req->args->cfg.quiet)
		show(req, &all);
	if (all.n && !req->dry)
		status = spw_ask("remove them for good?", req->yes,
				 req->args->cfg.quiet, "spillway clean -y")
			 ? remove_all(req, &all) : SPW_EXIT_FINDINGS;
	if (req->json)
		put_json(&all);
	free(all.list);
	free(all.orphan);
	if (!status && all.unseen)
		status = SPW_EXIT_PARTLY;
	if (!status && req->shares->unreachable)
		status = SPW_EXIT_UNREACHABLE;
	return fflush(stdout) && !status ? SPW_EXIT_FINDINGS : status;
}

int
spw_cmd_clean(int argc, char **argv, char **envp)
{
	static struct spw_args args;
	static struct spw_shares shares;
	struct request req = { .args = &args, .shares = &shares };
	const struct spw_switch own[] = {
		{ "-n", &req.dry, NULL }, { "--dry-run", &req.dry, NULL },
		{ "-y", &req.yes, NULL }, { "--yes", &req.yes, NULL },
		{ "--force", &req.force, NULL },
		{ "--json", &req.json, NULL }, { NULL, NULL, NULL },
	};
	const struct spw_command command = {
		.name = "clean", .usage = usage, .own = own,
		.settings = SPW_SETTINGS_LOOK | SPW_SETTING(TIERS),
		.usage_status = SPW_EXIT_USAGE,
	};
	struct spw_chosen chosen;
	int status = spw_args_read(&command, argv, envp, &args);

	(void)argc;
	if (status < 0 && req.force && !args.n_rest) {
		fputs(usage, stderr);
		status = SPW_EXIT_USAGE;
	}
	if (status < 0)
		status = spw_shares_find(&args, envp, &shares);
	if (status < 0)
		status = spw_chosen_find_beside(&args, &shares, &chosen);
	if (status < 0) {
		status = clean(&req, &chosen);
		spw_chosen_free(&chosen);
	}
	spw_shares_free(&shares);
	return status;
}
