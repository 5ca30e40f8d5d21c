/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd-drain.c -- spillway drain: bring home now what is dirty now */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "shm/sys.h"
#include "tools/chosen.h"
#include "tools/commands.h"
#include "tools/homing.h"
#include "tools/json.h"
#include "tools/lost.h"
#include "tools/keeper.h"
#include "tools/levels.h"
#include "tools/show.h"

enum { LEAVE_MS = 10000, HASTE_MS = 100 };

static const char usage[] =
	"usage: spillway drain [--wait] [--timeout TIME] [--json] [OPTION]...\n"
	"                      [JOB]...\n"
	"\n"
	"Ask for everything that is not home now to be brought there without\n"
	"delay. Where no drainer lives, drain here and now.\n"
	"\n"
	"  spillway drain --wait\n"
	"  spillway drain --wait --timeout 10min 482113\n"
	"  spillway drain --json --wait | jq '.jobs[].bytes_left'\n"
	"\n"
	"  --wait                return when it is home\n"
	"  --timeout TIME        wait no longer; status 5 then (none)\n"
	"  --json                write JSON\n"
	"  --help                this text\n";

struct request {
	bool wait, json;
	int64_t timeout_ms;
	bool quiet;
	bool outlived;			/* a drainer of ours is still at it */
};

struct result {
	struct spw_drain_left before, left;
	double seconds;
	int err;			/* 0: home, or asked for */
	const char *why;		/* if not */
	char why_buf[SPW_LEVELS_WHY];
	bool waited;
};

static int
wait_for_home(struct spw_segment *s, const struct request *req,
	      struct result *ret)
{
	char what[SPW_JOB_MAX + 16];
	struct spw_homing h;
	int r;

	snprintf(what, sizeof(what), "drain %s", s->job);
	r = spw_homing_begin(&h, &s->map, what, req->timeout_ms, true,
			     req->quiet);
	while (r == 0) {
		r = spw_homing_step(&h);
		if (r == 0)
			spw_sys_sleep_us(spw_homing_pause(&h));
	}
	spw_homing_end(&h);
	ret->waited = true;
	return r < 0 ? r : 0;
}

static int
only_ask(struct spw_segment *s)
{
	struct spw_asks asks;
	int r = spw_asks_make(&s->map, true, &asks);

	if (r == 0)
		spw_asks_free(&asks);
	return r;
}

/* A dead job's segment is removed when it is empty; else it stays. A drainer
 * that is in the middle of something when time is up ends with the process. */
static int
drain(struct spw_segment *s, struct request *req, struct result *ret)
{
	struct spw_keeper *k;
	int r;

	if (!req->wait && s->has_drainer)
		return only_ask(s);
	k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	r = spw_keeper_start(k, &s->map, SPW_HOST_DRAIN);
	if (r == 0) {
		r = wait_for_home(s, req, ret);
		if (spw_keeper_leave(k, true, r == -ETIMEDOUT ? HASTE_MS
							      : LEAVE_MS) ==
		    -ETIMEDOUT) {
			req->outlived = true;	/* k is in use */
			return r < 0 ? r : -ETIMEDOUT;
		}
	}
	free(k);
	return r;
}

static void
put_line(const struct spw_segment *s, const struct result *res)
{
	char a[SPW_SHOW_MAX], b[SPW_SHOW_MAX], c[SPW_SHOW_MAX];

	printf("%s: ", s->job);
	if (!res->waited && !res->err)
		printf("asked for %s in %s\n",
		       spw_show_size(res->before.bytes, a),
		       spw_show_count(res->before.files, "file", b));
	else
		printf("drained %s in %.1f s, %s left\n",
		       spw_show_size(res->before.bytes - (res->err ?
				     res->left.bytes < res->before.bytes ?
				     res->left.bytes : res->before.bytes : 0),
				     a), res->seconds,
		       spw_show_size(res->err ? res->left.bytes : 0, c));
}

static void
put_json(struct spw_json *j, const struct spw_segment *s,
	 const struct result *res)
{
	spw_json_open(j, NULL, '{');
	spw_json_string(j, "job", s->job);
	spw_json_bool(j, "waited", res->waited);
	spw_json_number(j, "bytes_asked", res->before.bytes);
	spw_json_number(j, "bytes_left", res->waited && !res->err ? 0
			: res->left.bytes);
	spw_json_number(j, "files_left", res->waited && !res->err ? 0
			: res->left.files);
	spw_json_real(j, "seconds", res->seconds);
	if (res->err)
		spw_json_string(j, "error", res->why);
	spw_json_close(j, '}');
}

static void
put_unreadable(struct spw_json *j, const struct spw_segment *s)
{
	spw_json_open(j, NULL, '{');
	spw_json_string(j, "job", s->job);
	spw_json_bool(j, "waited", false);
	spw_json_string(j, "error", spw_segment_trouble(s->err));
	spw_json_close(j, '}');
}

static int
drain_one(struct spw_segment *s, const struct spw_args *args,
	  struct request *req, struct spw_json *j)
{
	double began = spw_show_clock();
	struct result res = { 0 };
	uint32_t told = 0;

	if (s->state == SPW_SEGMENT_UNREADABLE) {
		spw_chosen_say(args, SPW_WARNING, SPW_W161, s->job,
			       spw_segment_trouble(s->err), NULL);
		if (j)
			put_unreadable(j, s);
		return SPW_EXIT_PARTLY;
	}
	res.before = s->left;
	res.err = drain(s, req, &res);
	res.seconds = spw_show_clock() - began;
	spw_drainer_left(&s->map, &res.left);
	if (res.err == -ETIMEDOUT && !res.left.bytes)
		res.err = 0;		/* it was, a moment later */
	res.why = spw_levels_why(&s->map, &res.left, res.err, res.why_buf);
	if (j)
		put_json(j, s, &res);
	else if (!args->cfg.quiet)
		put_line(s, &res);
	if (res.err && !args->cfg.quiet)
		(void)spw_lost_tell(&s->map, args->color, &told);
	if (res.err && !args->cfg.quiet)
		spw_chosen_say(args, SPW_WARNING, SPW_W162, s->job, res.why,
			       NULL);
	return res.err ? SPW_EXIT_PARTLY : SPW_EXIT_OK;
}

static int
drain_all(struct spw_chosen *c, const struct spw_args *args,
	  struct request *req)
{
	struct spw_json j;
	int status = SPW_EXIT_OK;

	if (req->json) {
		spw_json_begin(&j, stdout);
		spw_json_open(&j, NULL, '{');
		spw_json_open(&j, "jobs", '[');
	}
	for (size_t i = 0; i < c->n; i++) {
		int r = drain_one(&c->list[i], args, req,
				  req->json ? &j : NULL);

		status = r ? r : status;
	}
	if (req->json) {
		spw_json_close(&j, ']');
		spw_json_close(&j, '}');
		spw_json_end(&j);
	}
	return fflush(stdout) && !status ? SPW_EXIT_FINDINGS : status;
}

int
spw_cmd_drain(int argc, char **argv, char **envp)
{
	struct request req = { .timeout_ms = -1 };
	const char *timeout = "none";
	const struct spw_switch own[] = {
		{ "--wait", &req.wait, NULL }, { "--json", &req.json, NULL },
		{ "--timeout", NULL, &timeout }, { NULL, NULL, NULL },
	};
	const struct spw_command command = {
		.name = "drain", .usage = usage, .own = own,
		.settings = SPW_SETTINGS_LOOK,
		.usage_status = SPW_EXIT_USAGE,
	};
	static struct spw_args args;
	struct spw_chosen chosen;
	int status = spw_args_read(&command, argv, envp, &args);

	(void)argc;
	if (status >= 0)
		return status;
	if (!spw_args_timeout("--timeout", timeout, &req.timeout_ms))
		return SPW_EXIT_USAGE;
	status = spw_chosen_find(&args, &chosen);
	if (status >= 0)
		return status;
	req.quiet = args.cfg.quiet;
	status = drain_all(&chosen, &args, &req);
	if (!req.outlived)
		spw_chosen_free(&chosen);
	return status;
}
