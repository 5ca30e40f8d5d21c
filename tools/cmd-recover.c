/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd-recover.c -- spillway recover: bring home what dead jobs left behind */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/sys.h"
#include "shm/util.h"
#include "tools/ask.h"
#include "tools/chosen.h"
#include "tools/commands.h"
#include "tools/json.h"
#include "tools/levels.h"
#include "tools/limits.h"
#include "tools/lost.h"
#include "tools/replays.h"
#include "tools/shares.h"
#include "tools/show.h"
#include "tools/unhomed.h"
#include "tools/verify.h"

enum {
	SLICE_MS = 200,
	SHOW_US = 50000,
	STALL_MS = 10000,		/* with an error, and nothing moves */
	SHOWN = 20,			/* files, unless -v */
};

static const char usage[] =
	"usage: spillway recover [-y] [--force] [--json] [OPTION]... [JOB]...\n"
	"\n"
	"Find the segments of dead jobs, and what jobs left in the tiers when\n"
	"the node went down; list what is not home, ask, and bring it to its\n"
	"own paths. What is home and was read back is removed; until then\n"
	"nothing is deleted. Running it again does no harm.\n"
	"\n"
	"  spillway recover\n"
	"  spillway recover -y --tiers 'nvme:/scratch' 482113\n"
	"  spillway recover -y --json >recovered.json\n"
	"\n"
	"  -y, --yes             do not ask\n"
	"  --force               write over files that were changed since, and\n"
	"                        take shares whose owner cannot be asked\n"
	"  --json                write JSON\n"
	"  --help                this text\n";

struct request {
	bool yes, json, force;
	const struct spw_args *args;
};

struct result {
	struct spw_drain_left before, left;
	struct spw_verdict verdict;
	bool tried, removed;
	bool looked;			/* left is known */
	int err;
	const char *why;		/* if so */
	char why_buf[SPW_LEVELS_WHY];
};

static const char busy[] = "another process is draining it";

static bool
in_words(const struct request *req)
{
	return !req->json && !req->args->cfg.quiet;
}

static void
put_files(const struct spw_segment *s, unsigned verbose)
{
	struct spw_unhomed *list;
	char size[SPW_SHOW_MAX];
	size_t n;

	if (spw_unhomed_list(&s->map, &list, &n) < 0)
		return;
	for (size_t i = 0; i < n && (verbose || i < SHOWN); i++) {
		printf("  %9s  ", spw_show_size(list[i].bytes, size));
		spw_show_name(stdout, list[i].path);
		if (list[i].err)
			printf("  (%s)", spw_diag_errno(list[i].err));
		putchar('\n');
	}
	if (!verbose && n > SHOWN)
		printf("  and %zu more; -v lists all\n", n - SHOWN);
	free(list);
}

static void
put_segment(const struct spw_segment *s, unsigned verbose)
{
	char files[SPW_SHOW_MAX], bytes[SPW_SHOW_MAX];

	printf("segment %s: ", s->job);
	if (!s->left.bytes) {
		puts("dead, all in it is home");
		return;
	}
	printf("dead, %s in %s not home\n",
	       spw_show_size(s->left.bytes, bytes),
	       spw_show_count(s->left.files, "file", files));
	put_files(s, verbose);
}

/* What lives is another command's; that there is some is not to be missed, by
 * who takes it for dead. */
static void
put_living(const struct spw_segment *s)
{
	char files[SPW_SHOW_MAX], bytes[SPW_SHOW_MAX];

	if (s->left.bytes)
		printf("segment %s: alive, %s in %s not home; left to its "
		       "drainer\n", s->job,
		       spw_show_size(s->left.bytes, bytes),
		       spw_show_count(s->left.files, "file", files));
}

struct watch {				/* of what is left, as it gets less */
	struct spw_map *map;
	struct spw_progress line;
	_Atomic bool over;
};

/* By a thread: one pass of the drainer may be all there is to do. */
static void *
watch(void *arg)
{
	struct watch *w = arg;
	struct spw_drain_left left;

	while (!atomic_load(&w->over)) {
		spw_drainer_left(w->map, &left);
		spw_progress_show(&w->line, left.bytes);
		spw_sys_sleep_us(SHOW_US);
	}
	return NULL;
}

static int
finish(struct spw_segment *s, struct spw_drainer *d)
{
	struct spw_drain_left left;
	uint64_t least = UINT64_MAX;
	int64_t moved = spw_now_ms();
	int r;

	do {
		r = spw_drainer_finish(d, SLICE_MS);
		spw_drainer_left(&s->map, &left);
		if (left.bytes < least) {
			least = left.bytes;
			moved = spw_now_ms();
		}
	} while (r < 0 && spw_now_ms() - moved < STALL_MS);
	return r;
}

static int
bring_home(struct spw_segment *s, struct spw_drainer *d, bool quiet)
{
	char what[SPW_JOB_MAX + 16];
	struct watch w = { .map = &s->map };
	pthread_t watcher;
	bool watched;
	int r;

	snprintf(what, sizeof(what), "recover %s", s->job);
	spw_progress_begin(&w.line, what, quiet);
	watched = pthread_create(&watcher, NULL, watch, &w) == 0;
	r = finish(s, d);
	atomic_store(&w.over, true);
	if (watched)
		pthread_join(watcher, NULL);
	spw_progress_end(&w.line);
	return r;
}

/* Sums are taken between becoming the drainer, which finishes what dead
 * threads had begun, and the first write. */
static int
recover_as_drainer(struct spw_segment *s, struct spw_drainer *d, bool quiet,
		   struct result *ret)
{
	struct spw_proofs *proofs;
	int r;

	spw_drainer_left(&s->map, &ret->before);
	r = spw_proofs_take(&s->map, &proofs);
	if (r < 0)
		return r;
	r = bring_home(s, d, quiet);
	if (r == 0) {
		spw_proofs_check(proofs, &ret->verdict);
		if (ret->verdict.bad_bytes)
			r = -EIO;
	}
	spw_proofs_free(proofs);
	spw_drainer_left(&s->map, &ret->left);
	ret->looked = true;
	if (r == 0)
		ret->removed = spw_segment_remove(&s->map, NULL);
	return r;
}

static int
recover(struct spw_segment *s, bool quiet, struct result *ret)
{
	struct spw_drainer *d;
	int r;

	ret->tried = true;
	r = spw_drainer_start(&s->map, SPW_HOST_RECOVER, &d);
	if (r == -ENOENT || r == -ESTALE) {
		ret->looked = true;	/* somebody else was faster */
		return 0;
	}
	if (r < 0)
		return r;
	r = recover_as_drainer(s, d, quiet, ret);
	spw_drainer_stop(d);
	return r;
}

static void
blame(const struct request *req, const struct spw_segment *s,
      const struct result *res)
{
	struct spw_diag d;
	uint32_t told = 0;

	(void)spw_lost_tell(&s->map, req->args->color, &told);
	spw_diag_begin(&d, SPW_WARNING, SPW_W162);
	spw_diag_subject(&d, "job %e", s->job);
	spw_diag_cause(&d, "%s; the segment is kept", res->verdict.bad_bytes
		       ? "read back and found to differ" : res->why);
	spw_diag_hint(&d, "mend it and run spillway recover again; to give "
		      "it up: rm %e", s->path);
	spw_diag_print(&d, req->args->color, STDERR_FILENO);
}

static void
put_result(const struct request *req, const struct spw_segment *s,
	   const struct result *res)
{
	char files[SPW_SHOW_MAX], bytes[SPW_SHOW_MAX];
	const struct spw_verdict *v = &res->verdict;

	if (res->err == -EAGAIN) {
		spw_chosen_say(req->args, SPW_WARNING, SPW_W162, s->job, busy,
			       NULL);
		return;
	}
	if (res->err) {
		if (!req->json)
			put_segment(s, req->args->cfg.verbose);
		fflush(stdout);
		blame(req, s, res);
		return;
	}
	if (!in_words(req))
		return;
	if (!res->before.bytes)
		printf("%s: nothing was missing; segment removed\n", s->job);
	else
		printf("%s: recovered %s, %s, checksums ok%s\n", s->job,
		       spw_show_count(res->before.files, "file", files),
		       spw_show_size(res->before.bytes, bytes),
		       v->unseen_bytes ? " where the name is the same" : "");
}

static void
put_json(struct spw_json *j, const struct spw_segment *s,
	 const struct result *res)
{
	spw_json_open(j, NULL, '{');
	spw_json_string(j, "job", s->job);
	spw_json_string(j, "segment", s->path);
	spw_json_string(j, "state", spw_segment_state_name(s->state));
	if (s->state == SPW_SEGMENT_UNREADABLE) {
		spw_json_string(j, "error", spw_segment_trouble(s->err));
	} else {
		spw_json_number(j, "files", s->left.files);
		spw_json_number(j, "bytes", s->left.bytes);
		spw_json_bool(j, "recovered", res->tried && !res->err);
		spw_json_bool(j, "removed", res->removed);
		spw_json_number(j, "bytes_left", res->looked ? res->left.bytes
				: s->left.bytes);
		spw_json_number(j, "bytes_verified",
				res->verdict.good_bytes);
		if (res->err)
			spw_json_string(j, "error", res->err == -EAGAIN
					? busy : res->why);
	}
	spw_json_close(j, '}');
}

/* Whether it concerns us. */
static bool
is_dead(const struct request *req, const struct spw_segment *s, int *status)
{
	if (s->state == SPW_SEGMENT_DEAD)
		return true;
	if (s->state == SPW_SEGMENT_UNREADABLE) {
		spw_chosen_say(req->args, SPW_WARNING, SPW_W161, s->job,
			       spw_segment_trouble(s->err), NULL);
		*status = SPW_EXIT_FINDINGS;
	} else if (s->state == SPW_SEGMENT_NEW) {
		return req->args->n_rest > 0;
	} else if (req->args->n_rest) {
		spw_chosen_say(req->args, SPW_ERROR, SPW_E164, s->job,
			       "is alive, its drainer brings it home",
			       "spillway drain --wait");
		*status = SPW_EXIT_FINDINGS;
	} else if (in_words(req)) {
		put_living(s);
	}
	return false;
}

/* True: go on with it. */
static bool
is_agreed(const struct request *req, size_t n)
{
	return !n || spw_ask("recover to their own paths?", req->yes,
			     req->args->cfg.quiet, "spillway recover -y");
}

/* Lists the dead ones and keeps only them. */
static void
sift(struct spw_chosen *c, const struct request *req, struct spw_json *j,
     int *status)
{
	size_t dead = 0;

	for (size_t i = 0; i < c->n; i++) {
		struct spw_segment *s = &c->list[i];

		if (is_dead(req, s, status)) {
			if (in_words(req))
				put_segment(s, req->args->cfg.verbose);
			c->list[dead++] = *s;
			continue;
		}
		if (req->json && s->state == SPW_SEGMENT_UNREADABLE)
			put_json(j, s, &(struct result){ 0 });
		spw_segment_drop(s);
	}
	c->n = dead;
}

static void
recover_each(struct spw_chosen *c, const struct request *req, bool agreed,
	     struct spw_json *j, int *status)
{
	for (size_t i = 0; i < c->n; i++) {
		struct spw_segment *s = &c->list[i];
		struct result res = { 0 };

		if (agreed) {
			res.err = recover(s, req->args->cfg.quiet, &res);
			res.why = spw_levels_why(&s->map, &res.left, res.err,
						 res.why_buf);
			put_result(req, s, &res);
		}
		if (res.err)
			*status = SPW_EXIT_PARTLY;
		if (req->json)
			put_json(j, s, &res);
	}
}

static void
worsen(int *status, int other)
{
	*status = *status == SPW_EXIT_OK || other == SPW_EXIT_PARTLY
		  ? other : *status;
}

static int
recover_all(struct spw_chosen *c, struct spw_replays *shares, int status,
	    const struct request *req)
{
	bool words = in_words(req), agreed;
	struct spw_json j;
	int r = SPW_EXIT_OK;

	if (req->json) {
		spw_json_begin(&j, stdout);
		spw_json_open(&j, NULL, '{');
		spw_json_open(&j, "segments", '[');
	}
	sift(c, req, &j, &status);
	if (words)
		spw_replays_show(shares);
	if (words && !c->n && !shares->n && !status)
		puts("nothing to recover");
	agreed = is_agreed(req, c->n + shares->needed);
	if (!agreed)
		worsen(&status, SPW_EXIT_FINDINGS);
	/* They are older: nobody opens a file of which a dead segment has
	 * something. */
	if (agreed)
		spw_replays_bring(shares);
	recover_each(c, req, agreed, &j, &status);
	if (req->json) {
		spw_json_close(&j, ']');
		spw_json_open(&j, "shares", '[');
	}
	r = spw_replays_conclude(shares, agreed, req->json ? &j : NULL);
	if (r)
		worsen(&status, r);
	if (req->json) {
		spw_json_close(&j, ']');
		spw_json_close(&j, '}');
		spw_json_end(&j);
	}
	return fflush(stdout) && !status ? SPW_EXIT_FINDINGS : status;
}

int
spw_cmd_recover(int argc, char **argv, char **envp)
{
	static struct spw_args args;
	static struct spw_shares shares;
	struct request req = { .args = &args };
	const struct spw_switch own[] = {
		{ "-y", &req.yes, NULL }, { "--yes", &req.yes, NULL },
		{ "--force", &req.force, NULL },
		{ "--json", &req.json, NULL }, { NULL, NULL, NULL },
	};
	const struct spw_command command = {
		.name = "recover", .usage = usage, .own = own,
		.settings = SPW_SETTINGS_LOOK | SPW_SETTING(TIERS),
		.usage_status = SPW_EXIT_USAGE,
	};
	struct spw_replays replays;
	struct spw_chosen chosen;
	int status = spw_args_read(&command, argv, envp, &args);

	(void)argc;
	if (status < 0)
		status = spw_shares_find(&args, envp, &shares);
	if (status < 0)
		status = spw_chosen_find_beside(&args, &shares, &chosen);
	if (status >= 0) {
		spw_shares_free(&shares);
		return status;
	}
	(void)spw_limits_raise();
	signal(SIGXFSZ, SIG_IGN);	/* still too large is an error */
	status = spw_replays_open(&shares, &args, req.force, &replays);
	status = recover_all(&chosen, &replays, status, &req);
	spw_shares_free(&shares);
	spw_chosen_free(&chosen);
	return status;
}
