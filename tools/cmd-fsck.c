/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd-fsck.c -- spillway fsck: check every byte that segments and tiers hold */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shm/blocks.h"
#include "shm/util.h"
#include "tools/ask.h"
#include "tools/chosen.h"
#include "tools/commands.h"
#include "tools/json.h"
#include "tools/lost.h"
#include "tools/missing.h"
#include "tools/opening.h"
#include "tools/replays.h"
#include "tools/show.h"

static const char usage[] =
	"usage: spillway fsck [--repair] [-y] [--json] [OPTION]... [JOB]...\n"
	"\n"
	"Check the segments of this user and every byte that lies in the\n"
	"shares of the tiers, in use or not. Damaged pieces are named with\n"
	"tier, file and range.\n"
	"\n"
	"  spillway fsck --tiers 'nvme:/scratch'\n"
	"  spillway fsck --repair 482113\n"
	"  spillway fsck --json | jq '.shares[].damaged'\n"
	"\n"
	"  --repair              remove damaged pieces, after asking, and\n"
	"                        nothing else\n"
	"  -y, --yes             do not ask\n"
	"  --json                write JSON\n"
	"  --help                this text\n";

struct request {
	bool repair, yes, json;
	const struct spw_args *args;
	const struct spw_shares *shares;
};

struct tally {
	uint64_t objects, bytes, damaged, repaired, segments, bad_segments;
	uint64_t kept;			/* files */
	bool partly;
};

/* Records of blocks that cannot be; those of the living change meanwhile. */
static uint64_t
count_unsound(const struct spw_segment *s)
{
	const struct spw_map *map = &s->map;
	uint32_t ready = spw_seg_ready(map, SPW_POOL_BLOCKS);
	uint64_t n = 0;

	for (uint32_t i = 0; s->state == SPW_SEGMENT_DEAD && i < ready; i++)
		n += atomic_load(&map->owners[SPW_POOL_BLOCKS][i]) &
		     SPW_IN_USE && !spw_block_is_sound(map,
						       &map->blocks[i].state);
	return n;
}

static void
check_segment(const struct request *req, struct spw_segment *s,
	      struct spw_json *j, struct tally *t)
{
	bool readable = s->state != SPW_SEGMENT_UNREADABLE;
	uint64_t unsound = readable ? count_unsound(s) : 0;
	uint32_t told = 0;

	t->segments++;
	/* What was to be read from tiers, and could not. */
	if (readable)
		t->damaged += spw_lost_tell(&s->map, req->args->color, &told);
	t->bad_segments += !readable || unsound;
	if (!readable || unsound)
		spw_chosen_say(req->args, SPW_WARNING, SPW_W161, s->job,
			       readable ? "records of blocks are damaged"
			       : spw_segment_trouble(s->err), NULL);
	if (!j) {
		if (readable)
			t->damaged += spw_missing_tell(s, req->args->color,
						       NULL);
		return;
	}
	spw_json_open(j, NULL, '{');
	spw_json_string(j, "job", s->job);
	spw_json_string(j, "state", spw_segment_state_name(s->state));
	spw_json_number(j, "damaged_blocks", unsound);
	if (readable)
		spw_lost_put(j, &s->map);
	if (readable)
		t->damaged += spw_missing_tell(s, req->args->color, j);
	spw_json_close(j, '}');
}

static int
look_into(const struct request *req, const struct spw_share_owner *o,
	  bool look_only, struct spw_replay **ret)
{
	return spw_opening(req->shares->place, req->shares->nplaces, o->name,
			   look_only, req->args->cfg.quiet, ret);
}

static void
check_objects(const struct request *req, const struct spw_share_owner *o,
	      struct spw_replay *r, struct tally *t)
{
	struct spw_progress p;
	char what[sizeof(o->job) + 16];
	uint64_t left = 0;

	for (size_t i = 0; i < r->nobjects; i++)
		left += r->objects[i].length;
	snprintf(what, sizeof(what), "fsck %s", o->job);
	spw_progress_begin(&p, what, req->args->cfg.quiet);
	for (size_t i = 0; i < r->nobjects; i++) {
		spw_progress_show(&p, left);
		spw_replay_check(r, &r->objects[i]);
		left -= r->objects[i].length;
		t->bytes += r->objects[i].length;
		t->objects++;
	}
	spw_progress_end(&p);
}

/* In a share that is in use an object may go while we look for it. */
static bool
is_damaged(const struct spw_replay *r, const struct spw_replay_object *o)
{
	return !o->gone && o->err &&
	       (!r->look_only || (o->err != -ENOENT && o->err != -ESTALE));
}

/* What is in it nobody knows. */
static bool
is_unread(const struct spw_replay *r, const struct spw_replay_object *o)
{
	return is_damaged(r, o) && o->err != -EBADMSG;
}

static uint64_t
count_damaged(const struct spw_replay *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->nobjects; i++)
		n += is_damaged(r, &r->objects[i]);
	return n;
}

static uint64_t
drop_damaged(struct spw_replay *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->nobjects; i++) {
		struct spw_replay_object *o = &r->objects[i];

		if (!is_damaged(r, o) || o->err != -EBADMSG)
			continue;
		if (spw_replay_drop(r, o) == 0)
			n++;
	}
	for (uint32_t i = 0; i < r->ntiers; i++)
		if (spw_replay_sync(r, i) < 0)
			n = 0;
	return n;
}

static void
repair(const struct request *req, const struct spw_share_owner *o,
       struct spw_replay *r, struct tally *t)
{
	uint64_t bad = count_damaged(r), done = 0;
	char n[SPW_SHOW_MAX], line[sizeof(o->job) + 80];

	if (!bad || !req->repair)
		return;
	if (r->look_only || spw_replay_is_unlocked(r)) {
		spw_chosen_say(req->args, SPW_WARNING, SPW_W167, o->job,
			       "its shares are in use, or in a place without "
			       "locks; nothing is repaired there", NULL);
	} else {
		snprintf(line, sizeof(line), "%s: remove %s for good?",
			 o->job, spw_show_count(bad, "damaged piece", n));
		if (spw_ask(line, req->yes, req->args->cfg.quiet,
			    "spillway fsck --repair -y"))
			done = drop_damaged(r);
	}
	t->repaired += done;
	t->partly |= done < bad;
}

static void
put_share(struct spw_json *j, const struct spw_share_owner *o,
	  const struct spw_replay *r)
{
	spw_json_open(j, NULL, '{');
	spw_json_string(j, "job", o->job);
	spw_json_string(j, "share", o->name);
	spw_json_bool(j, "in_use", o->has_segment || spw_replay_is_held(r));
	spw_json_number(j, "objects", r->nobjects);
	spw_json_number(j, "bytes_not_home", r->bytes);
	spw_json_number(j, "files_kept", r->kept);
	spw_json_number(j, "bytes_kept", r->kept_bytes);
	spw_json_open(j, "damaged", '[');
	for (size_t i = 0; i < r->nobjects; i++)
		if (is_damaged(r, &r->objects[i]))
			spw_replays_put_object(j, r, &r->objects[i]);
	spw_json_close(j, ']');
	spw_json_close(j, '}');
}

static void
check_share(const struct request *req, const struct spw_share_owner *o,
	    struct spw_json *j, struct tally *t)
{
	struct spw_replay *r;
	int err = look_into(req, o, !req->repair || o->has_segment, &r);

	if (err == -EBUSY)
		err = look_into(req, o, true, &r);
	if (err == -ENOENT)
		return;
	if (err < 0) {
		spw_chosen_say(req->args, SPW_WARNING, SPW_W167, o->job,
			       spw_diag_errno(-err), NULL);
		t->partly = true;
		return;
	}
	if (!o->has_segment)
		spw_replay_look_home(r);
	t->kept += r->kept;
	check_objects(req, o, r, t);
	t->damaged += count_damaged(r);
	for (size_t i = 0; i < r->nobjects; i++) {
		if (is_damaged(r, &r->objects[i]))
			spw_replays_blame(req->args, r, &r->objects[i]);
		t->partly |= is_unread(r, &r->objects[i]);
	}
	if (j)
		put_share(j, o, r);
	repair(req, o, r, t);
	if (spw_replay_close(r, false) < 0)
		t->partly = true;
}

static void
check_all(const struct request *req, const struct spw_chosen *c,
	  struct spw_json *j, struct tally *t)
{
	if (j) {
		spw_json_begin(j, stdout);
		spw_json_open(j, NULL, '{');
		spw_json_open(j, "segments", '[');
	}
	for (size_t i = 0; i < c->n; i++)
		check_segment(req, &c->list[i], j, t);
	if (j) {
		spw_json_close(j, ']');
		spw_json_open(j, "shares", '[');
	}
	for (size_t i = 0; i < req->shares->n; i++)
		if (spw_shares_is_meant(&req->shares->owner[i], req->args))
			check_share(req, &req->shares->owner[i], j, t);
	if (!j)
		return;
	spw_json_close(j, ']');
	spw_json_number(j, "damaged", t->damaged);
	spw_json_number(j, "repaired", t->repaired);
	spw_json_close(j, '}');
	spw_json_end(j);
}

static int
conclude(const struct request *req, const struct tally *t)
{
	char a[SPW_SHOW_MAX], b[SPW_SHOW_MAX], c[SPW_SHOW_MAX];

	if (!req->json && !req->args->cfg.quiet) {
		printf("checked %s, %s, %s in the tiers: %llu damaged",
		       spw_show_count(t->segments, "segment", a),
		       spw_show_count(t->objects, "object", b),
		       spw_show_size(t->bytes, c),
		       (unsigned long long)(t->damaged + t->bad_segments));
		if (t->kept)
			printf(", %s kept there", spw_show_count(t->kept,
			       "file", a));
		if (t->repaired)
			printf(", %llu removed",
			       (unsigned long long)t->repaired);
		putchar('\n');
	}
	if (t->partly)
		return SPW_EXIT_PARTLY;
	if (req->shares->unreachable)
		return SPW_EXIT_UNREACHABLE;
	return t->damaged > t->repaired || t->bad_segments || fflush(stdout)
	       ? SPW_EXIT_FINDINGS : SPW_EXIT_OK;
}

int
spw_cmd_fsck(int argc, char **argv, char **envp)
{
	static struct spw_args args;
	static struct spw_shares shares;
	struct request req = { .args = &args, .shares = &shares };
	const struct spw_switch own[] = {
		{ "--repair", &req.repair, NULL }, { "-y", &req.yes, NULL },
		{ "--yes", &req.yes, NULL }, { "--json", &req.json, NULL },
		{ NULL, NULL, NULL },
	};
	const struct spw_command command = {
		.name = "fsck", .usage = usage, .own = own,
		.settings = SPW_SETTINGS_LOOK | SPW_SETTING(TIERS),
		.usage_status = SPW_EXIT_USAGE,
	};
	struct tally tally = { 0 };
	struct spw_chosen chosen;
	struct spw_json j;
	int status = spw_args_read(&command, argv, envp, &args);

	(void)argc;
	if (status < 0)
		status = spw_shares_find(&args, envp, &shares);
	if (status < 0)
		status = spw_chosen_find_beside(&args, &shares, &chosen);
	if (status < 0) {
		check_all(&req, &chosen, req.json ? &j : NULL, &tally);
		status = conclude(&req, &tally);
		spw_chosen_free(&chosen);
	}
	spw_shares_free(&shares);
	return status;
}
