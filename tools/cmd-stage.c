/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd-stage.c -- spillway stage: files brought up for a job, or home after it */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "planner/replay.h"
#include "shm/sys.h"
#include "shm/util.h"
#include "tools/args.h"
#include "tools/commands.h"
#include "tools/json.h"
#include "tools/opening.h"
#include "tools/show.h"
#include "tools/stagein.h"
#include "tools/stubs.h"

enum { BUSY_MS = 30000, BUSY_US = 20000 };

static const char usage[] =
	"usage: spillway stage in [-n] [--for TIME] [--json] [OPTION]...\n"
	"                         FILE|DIRECTORY...\n"
	"       spillway stage out [-n] [--force] [--json] [OPTION]...\n"
	"                          FILE|DIRECTORY...\n"
	"\n"
	"in: bring files up into the memory of a job, from where its programs\n"
	"read them.\n"
	"out: bring home what was kept in tiers (--at-exit keep): each stub\n"
	"becomes the plain file that it stands for, and its bytes leave the\n"
	"tiers. Files that are no stubs are not touched.\n"
	"\n"
	"  spillway stage in --job train data/part-*.h5\n"
	"  spillway stage out -n results\n"
	"  spillway stage out --json results | jq '.bytes'\n"
	"\n"
	"  -n, --dry-run         show what is in memory, or would come home\n"
	"  --for TIME            in: keep it there for so long (1h)\n"
	"  --force               out: also over stubs that somebody wrote to\n"
	"  --json                write JSON\n"
	"  --help                this text\n";

struct request {
	bool dry, force, json;
	const struct spw_args *args;
};

struct progress {
	struct spw_progress line;
	uint64_t left, out;
};

static void
say(const struct spw_args *args, const char *path, const char *cause,
    const char *hint)
{
	struct spw_diag d;

	spw_diag_begin(&d, SPW_WARNING, SPW_W119);
	spw_diag_subject(&d, "%e", path);
	spw_diag_cause(&d, "%s", cause);
	if (hint)
		spw_diag_hint(&d, "%s", hint);
	spw_diag_print(&d, args->color, STDERR_FILENO);
}

static void
fault(void *arg, const char *path, int err)
{
	say(arg, path, err == -ESTALE ? "is a copy of a stub: its bytes are "
	    "those of the stub it was copied from" : err == -EINVAL
	    ? "is a stub of a newer version, or its attribute is damaged"
	    : spw_diag_errno(-err), NULL);
}

static void
blame(const struct spw_args *args, const struct spw_stub_found *f)
{
	char where[sizeof(f->stub.tiers) + 128];

	switch (f->err) {
	case -EEXIST:
		say(args, f->path, "was written to since it was kept",
		    "to give that up: spillway stage out --force");
		return;
	case -EBUSY:
		say(args, f->path, "its share in the tiers is in use", NULL);
		return;
	case -ETIMEDOUT:
		snprintf(where, sizeof(where), "a tier of %s does not answer; "
			 "it is a stub as before", f->stub.tiers);
		say(args, f->path, where, "when it does: spillway stage out");
		return;
	case -ENOENT:
	case -ENODATA:
		snprintf(where, sizeof(where), "%s in %s, kept on %s",
			 f->err == -ENOENT ? "no share"
			 : "not all of its objects", f->stub.tiers,
			 f->stub.host);
		say(args, f->path, where, NULL);
		return;
	default:
		say(args, f->path, f->err == -EBADMSG
		    ? "its bytes in the tiers are damaged: spillway fsck"
		    : spw_diag_errno(-f->err), NULL);
	}
}

static void
step(void *arg, uint64_t bytes)
{
	struct progress *p = arg;

	p->left -= SPW_MIN(bytes, p->left);
	spw_progress_show(&p->line, p->left);
}

/* The share of a stub; one that another command has is waited for. */
static int
open_share(const struct spw_stub *s, struct spw_tierlist *list, bool quiet,
	   struct spw_replay **ret)
{
	struct spw_replay_place place[SPW_TIERS_MAX];
	int64_t until = spw_now_ms() + BUSY_MS;
	struct spw_diag d;
	unsigned n = 0;
	int r;

	if (spw_tierspec_parse(s->tiers, "stub", SPW_KINDS_ALL, NULL, list,
			       &d) < 0)
		return -EINVAL;
	for (unsigned i = 0; i < list->n; i++) {
		place[n].ops = spw_tier_by_kind(
			spw_tierspec_kind_name(list->tier[i].kind));
		place[n].place = spw_tierspec_place(list, &list->tier[i]);
		n += place[n].ops != NULL;
	}
	while ((r = spw_opening(place, n, s->share, false, quiet, ret)) ==
	       -EBUSY && spw_now_ms() < until)
		spw_sys_sleep_us(BUSY_US);
	return r;
}

/* Looked at anew: another command may have had it meanwhile. r is NULL when
 * the share is gone. */
static int
bring_file(struct spw_replay *r, int err, struct spw_stub_found *f, bool force,
	   struct progress *p)
{
	const struct spw_replay_step each = { step, p };
	int fd = spw_stub_open(f->path, &f->stub);

	if (fd == -ENODATA)
		return 0;		/* home by now */
	if (fd < 0)
		return fd;
	if (r)
		err = spw_replay_stage_out(r, fd, &f->stub, force, &each);
	else if (err == -ENOENT && f->stub.state == SPW_STUB_HOME)
		err = spw_stub_end(fd, &f->stub);
	close(fd);
	if (err == 0)
		p->out += f->stub.size;
	return err;
}

static void
bring_share(const struct request *req, struct spw_stub_found *f, size_t n,
	    struct progress *p)
{
	static struct spw_tierlist list;
	struct spw_replay *r = NULL;
	int err = open_share(&f->stub, &list, req->args->cfg.quiet, &r);

	for (size_t i = 0; i < n; i++)
		f[i].err = bring_file(r, err, &f[i], req->force, p);
	err = r ? spw_replay_close(r, true) : 0;
	if (err == -ETIMEDOUT)		/* told where it matters */
		return;
	for (size_t i = 0; err && i < n; i++)
		f[i].err = f[i].err ? f[i].err : err;
}

static bool
is_same_share(const struct spw_stub *a, const struct spw_stub *b)
{
	return !strcmp(a->share, b->share) && !strcmp(a->tiers, b->tiers);
}

static void
bring_all(const struct request *req, struct spw_stubs *s, struct progress *p)
{
	for (size_t i = 0; i < s->n; i++)
		p->left += s->list[i].stub.size;
	spw_progress_begin(&p->line, "stage out", req->args->cfg.quiet);
	spw_progress_show(&p->line, p->left);
	for (size_t i = 0, n; i < s->n; i += n) {
		for (n = 1; i + n < s->n && is_same_share(&s->list[i].stub,
						&s->list[i + n].stub); n++)
			;
		bring_share(req, &s->list[i], n, p);
	}
	spw_progress_end(&p->line);
}

static void
put_json(const struct request *req, const struct spw_stubs *s,
	 const struct progress *p)
{
	struct spw_json j;

	spw_json_begin(&j, stdout);
	spw_json_open(&j, NULL, '{');
	spw_json_open(&j, "files", '[');
	for (size_t i = 0; i < s->n; i++) {
		const struct spw_stub_found *f = &s->list[i];

		spw_json_open(&j, NULL, '{');
		spw_json_string(&j, "path", f->path);
		spw_json_number(&j, "bytes", f->stub.size);
		spw_json_string(&j, "share", f->stub.share);
		spw_json_string(&j, "tiers", f->stub.tiers);
		spw_json_string(&j, "host", f->stub.host);
		spw_json_bool(&j, "home", !req->dry && !f->err);
		if (f->err)
			spw_json_string(&j, "error", spw_diag_errno(-f->err));
		spw_json_close(&j, '}');
	}
	spw_json_close(&j, ']');
	spw_json_number(&j, "bytes", p->out);
	spw_json_close(&j, '}');
	spw_json_end(&j);
}

static void
put_lines(const struct request *req, const struct spw_stubs *s,
	  const struct progress *p)
{
	char size[SPW_SHOW_MAX], files[SPW_SHOW_MAX];
	size_t home = 0;

	for (size_t i = 0; i < s->n; i++) {
		home += !s->list[i].err;
		if (!req->dry)
			continue;
		printf("%9s  ", spw_show_size(s->list[i].stub.size, size));
		spw_show_name(stdout, s->list[i].path);
		printf("  in %s\n", s->list[i].stub.tiers);
	}
	if (!s->n)
		puts("nothing is kept there");
	else if (!req->dry)
		printf("brought home %s, %s\n",
		       spw_show_count(home, "file", files),
		       spw_show_size(p->out, size));
}

static int
conclude(const struct request *req, const struct spw_stubs *s,
	 const struct progress *p)
{
	int status = s->missing ? SPW_EXIT_NO_JOB
		     : s->refused ? SPW_EXIT_PARTLY : SPW_EXIT_OK;
	size_t bad = 0, gone = 0;

	for (size_t i = 0; i < s->n; i++) {
		bad += s->list[i].err != 0;
		gone += s->list[i].err == -ENOENT;
		if (s->list[i].err)
			blame(req->args, &s->list[i]);
	}
	if (req->json)
		put_json(req, s, p);
	else if (!req->args->cfg.quiet)
		put_lines(req, s, p);
	if (bad)
		status = bad == gone && bad == s->n ? SPW_EXIT_UNREACHABLE
						    : SPW_EXIT_PARTLY;
	return fflush(stdout) && !status ? SPW_EXIT_FINDINGS : status;
}

static int
stage_out(const struct request *req)
{
	struct progress p = { .left = 0 };
	struct spw_stubs stubs;
	int r = spw_stubs_find(req->args->rest + 1, fault, (void *)req->args,
			       &stubs);

	if (r < 0) {
		say(req->args, "stage", spw_diag_errno(-r), NULL);
		return SPW_EXIT_PARTLY;
	}
	if (!req->dry)
		bring_all(req, &stubs, &p);
	r = conclude(req, &stubs, &p);
	spw_stubs_free(&stubs);
	return r;
}

static int
stage_in(const struct request *req, const char *hold, char **argv,
	 char **envp)
{
	struct spw_stagein in = {
		.args = req->args, .paths = req->args->rest + 1,
		.argv = argv, .envp = envp, .hold_ms = -1,
		.dry = req->dry, .json = req->json,
	};

	if (hold && !spw_args_timeout("--for", hold, &in.hold_ms))
		return SPW_EXIT_USAGE;
	return spw_stage_in(&in);
}

/* As it was given: reading the arguments reorders them. */
static char **
copy_args(int argc, char **argv)
{
	char **copy = calloc((size_t)argc + 2, sizeof(*copy));

	if (copy) {
		copy[0] = "spillway";
		memcpy(copy + 1, argv, (size_t)argc * sizeof(*copy));
	}
	return copy;
}

int
spw_cmd_stage(int argc, char **argv, char **envp)
{
	static struct spw_args args;
	struct request req = { .args = &args };
	const char *hold = NULL;
	const struct spw_switch own[] = {
		{ "-n", &req.dry, NULL }, { "--dry-run", &req.dry, NULL },
		{ "--force", &req.force, NULL },
		{ "--for", NULL, &hold },
		{ "--json", &req.json, NULL }, { NULL, NULL, NULL },
	};
	const struct spw_command command = {
		.name = "stage", .usage = usage, .own = own,
		.settings = SPW_SETTINGS_LOOK | SPW_SETTING(TIERS) |
			    SPW_SETTING(EXCLUDE),
		.usage_status = SPW_EXIT_USAGE,
	};
	char **given = copy_args(argc, argv);
	int status = given ? spw_args_read(&command, argv, envp, &args)
			   : SPW_EXIT_PARTLY;

	if (status < 0 && args.n_rest >= 2 && !strcmp(args.rest[0], "in"))
		status = stage_in(&req, hold, given, envp);
	else if (status < 0 && args.n_rest >= 2 &&
		 !strcmp(args.rest[0], "out"))
		status = stage_out(&req);
	if (status < 0) {
		fputs(usage, stderr);
		status = SPW_EXIT_USAGE;
	}
	free(given);
	return status;
}
