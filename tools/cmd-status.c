/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd-status.c -- spillway status: which jobs there are, what is not home */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shm/files.h"
#include "shm/pool.h"
#include "shm/util.h"
#include "tools/chosen.h"
#include "tools/commands.h"
#include "tools/json.h"
#include "tools/levels.h"
#include "tools/opening.h"
#include "tools/shares.h"
#include "tools/show.h"

static const char usage[] =
	"usage: spillway status [--why] [--json] [OPTION]... [JOB]...\n"
	"\n"
	"Show the jobs of this user on this node: who lives, how much memory\n"
	"is in use, how much is not home yet and who brings it there.\n"
	"\n"
	"  spillway status\n"
	"  spillway status --why 482113\n"
	"  spillway status --json | jq '.jobs[].dirty_bytes'\n"
	"\n"
	"  --why                 list what the kernel serves, and why\n"
	"  --json                write JSON\n"
	"  --help                this text\n";

static uint64_t
ram_used(const struct spw_map *map)
{
	uint32_t slots = spw_seg_ready(map, SPW_POOL_SLOTS);

	return (uint64_t)(slots - SPW_MIN(slots,
			  spw_pool_free(map, SPW_POOL_SLOTS)))
	       << SPW_BLOCK_SHIFT;
}

static uint64_t
ram_cap(const struct spw_map *map)
{
	return (uint64_t)map->counts[SPW_POOL_SLOTS] << SPW_BLOCK_SHIFT;
}

static bool
is_in_use(const struct spw_map *map, uint32_t file)
{
	return atomic_load(&map->owners[SPW_POOL_FILES][file]) & SPW_IN_USE;
}

/* The path may be written over while we look; the copy ends in any case. */
static const char *
path_of(const struct spw_file *f, char buf[SPW_FILE_PATH + 1])
{
	memcpy(buf, f->path, SPW_FILE_PATH);
	buf[SPW_FILE_PATH] = '\0';
	return buf;
}

static uint32_t
bypass_of(const struct spw_file *f)
{
	uint32_t why = atomic_load(&f->bypass);

	return why < SPW_BYPASS_COUNT ? why : SPW_BYPASS_NONE;
}

static void
put_job(const struct spw_segment *s)
{
	char used[SPW_SHOW_MAX], cap[SPW_SHOW_MAX], dirty[SPW_SHOW_MAX];
	char ram[2 * SPW_SHOW_MAX], drainer[SPW_SHOW_MAX] = "-";
	const struct spw_seg *seg = s->map.seg;

	if (s->state == SPW_SEGMENT_UNREADABLE) {
		spw_show_name(stdout, s->job);
		printf("  unreadable: %s\n", spw_segment_trouble(s->err));
		return;
	}
	snprintf(ram, sizeof(ram), "%s/%s",
		 spw_show_size(ram_used(&s->map), used),
		 spw_show_size(ram_cap(&s->map), cap));
	if (s->has_drainer)
		snprintf(drainer, sizeof(drainer), "%s %u",
			 spw_segment_host_name(
				 atomic_load(&seg->drainer_host)),
			 atomic_load(&seg->drainer_pid));
	printf("%-24s  %-5s  %5u  %-17s  %9s  %8u  %-14s  %s\n", s->job,
	       spw_segment_state_name(s->state), s->folk.programs, ram,
	       spw_show_size(s->left.bytes, dirty), s->left.files, drainer,
	       s->left.err ? strerror(s->left.err) : "-");
}

static void
put_tiers(const struct spw_segment *s)
{
	static struct spw_levels levels;
	char below[SPW_SHOW_MAX];

	if (s->state == SPW_SEGMENT_UNREADABLE)
		return;
	spw_levels_see(&s->map, &levels);
	spw_levels_show(&levels);
	if (s->left.below)
		printf("  %s in tiers and not home\n",
		       spw_show_size(s->left.below, below));
}

static void
put_why(const struct spw_segment *s)
{
	char path[SPW_FILE_PATH + 1];

	if (s->state == SPW_SEGMENT_UNREADABLE)
		return;
	for (unsigned i = SPW_BYPASS_NONE + 1; i < SPW_BYPASS_COUNT; i++) {
		uint64_t n = atomic_load(&s->map.seg->bypasses[i]);

		if (n)
			printf("  %-14s  %" PRIu64 " so far\n",
			       spw_bypass_name(i), n);
	}
	for (uint32_t i = 0; i < spw_seg_ready(&s->map, SPW_POOL_FILES); i++) {
		const struct spw_file *f = &s->map.files[i];

		if (!is_in_use(&s->map, i) || !bypass_of(f))
			continue;
		printf("  %-14s  ", spw_bypass_name(bypass_of(f)));
		spw_show_name(stdout, path_of(f, path));
		putchar('\n');
	}
}

static void
put_json_files(struct spw_json *j, const struct spw_segment *s)
{
	char path[SPW_FILE_PATH + 1];

	spw_json_open(j, "bypassed_files", '[');
	for (uint32_t i = 0; i < spw_seg_ready(&s->map, SPW_POOL_FILES); i++) {
		const struct spw_file *f = &s->map.files[i];

		if (!is_in_use(&s->map, i) || !bypass_of(f))
			continue;
		spw_json_open(j, NULL, '{');
		spw_json_string(j, "path", path_of(f, path));
		spw_json_string(j, "reason", spw_bypass_name(bypass_of(f)));
		spw_json_close(j, '}');
	}
	spw_json_close(j, ']');
}

static void
put_json_readable(struct spw_json *j, const struct spw_segment *s, bool why)
{
	const struct spw_seg *seg = s->map.seg;
	static struct spw_levels levels;

	spw_levels_see(&s->map, &levels);
	spw_json_number(j, "processes", s->folk.programs);
	spw_json_number(j, "ram_used", ram_used(&s->map));
	spw_json_number(j, "ram_capacity", ram_cap(&s->map));
	spw_json_number(j, "dirty_bytes", s->left.bytes);
	spw_json_number(j, "below_bytes", s->left.below);
	spw_json_number(j, "files_not_home", s->left.files);
	spw_json_number(j, "bytes_home", atomic_load(&seg->bytes_home));
	spw_json_number(j, "bytes_down", atomic_load(&seg->bytes_down));
	spw_json_number(j, "bytes_up", atomic_load(&seg->bytes_up));
	if (s->has_drainer) {
		spw_json_string(j, "drainer", spw_segment_host_name(
				atomic_load(&seg->drainer_host)));
		spw_json_number(j, "drainer_pid",
				atomic_load(&seg->drainer_pid));
	} else {
		spw_json_null(j, "drainer");
	}
	if (s->left.err)
		spw_json_string(j, "error", strerror(s->left.err));
	spw_levels_put(&levels, j);
	spw_json_open(j, "bypass", '{');
	for (unsigned i = SPW_BYPASS_NONE + 1; i < SPW_BYPASS_COUNT; i++)
		if (atomic_load(&seg->bypasses[i]))
			spw_json_number(j, spw_bypass_name(i),
					atomic_load(&seg->bypasses[i]));
	spw_json_close(j, '}');
	if (why)
		put_json_files(j, s);
}

/* A job that is over and has files in its tiers on purpose. */
static void
see_kept(const struct spw_shares *shares, const struct spw_share_owner *o,
	 bool quiet, struct spw_json *j)
{
	char files[SPW_SHOW_MAX], bytes[SPW_SHOW_MAX];
	struct spw_replay *r;

	if (o->has_segment || spw_opening(shares->place, shares->nplaces,
					  o->name, true, quiet, &r) < 0)
		return;
	spw_replay_look_home(r);
	if (r->kept && j) {
		spw_json_open(j, NULL, '{');
		spw_json_string(j, "job", o->job);
		spw_json_string(j, "share", o->name);
		spw_json_number(j, "files", r->kept);
		spw_json_number(j, "bytes", r->kept_bytes);
		spw_json_close(j, '}');
	} else if (r->kept) {
		printf("%s: %s of %s kept in its tiers: spillway stage out\n",
		       o->job, spw_show_count(r->kept, "file", files),
		       spw_show_size(r->kept_bytes, bytes));
	}
	(void)spw_replay_close(r, false);
}

static void
put_kept(const struct spw_shares *shares, const struct spw_args *args,
	 struct spw_json *j)
{
	if (j)
		spw_json_open(j, "kept", '[');
	for (size_t i = 0; i < shares->n; i++)
		if (spw_shares_is_meant(&shares->owner[i], args))
			see_kept(shares, &shares->owner[i], args->cfg.quiet,
				 j);
	if (j)
		spw_json_close(j, ']');
}

static void
put_json(const struct spw_chosen *c, const struct spw_shares *shares,
	 const struct spw_args *args, bool why)
{
	struct spw_json j;

	spw_json_begin(&j, stdout);
	spw_json_open(&j, NULL, '{');
	spw_json_open(&j, "jobs", '[');
	for (size_t i = 0; i < c->n; i++) {
		const struct spw_segment *s = &c->list[i];

		spw_json_open(&j, NULL, '{');
		spw_json_string(&j, "job", s->job);
		spw_json_string(&j, "segment", s->path);
		spw_json_string(&j, "state",
				spw_segment_state_name(s->state));
		if (s->state == SPW_SEGMENT_UNREADABLE)
			spw_json_string(&j, "error",
					spw_segment_trouble(s->err));
		else
			put_json_readable(&j, s, why);
		spw_json_close(&j, '}');
	}
	spw_json_close(&j, ']');
	put_kept(shares, args, &j);
	spw_json_close(&j, '}');
	spw_json_end(&j);
}

static void
put_table(const struct spw_chosen *c, bool why)
{
	if (!c->n) {
		puts("no job of yours on this node");
		return;
	}
	printf("%-24s  %-5s  %5s  %-17s  %9s  %8s  %-14s  %s\n", "JOB",
	       "STATE", "PROCS", "RAM USED/CAP", "DIRTY", "NOT HOME",
	       "DRAINER", "ERROR");
	for (size_t i = 0; i < c->n; i++) {
		put_job(&c->list[i]);
		put_tiers(&c->list[i]);
		if (why)
			put_why(&c->list[i]);
	}
}

int
spw_cmd_status(int argc, char **argv, char **envp)
{
	bool why = false, json = false;
	const struct spw_switch own[] = {
		{ "--why", &why, NULL }, { "--json", &json, NULL },
		{ NULL, NULL, NULL },
	};
	const struct spw_command command = {
		.name = "status", .usage = usage, .own = own,
		.settings = SPW_SETTINGS_LOOK | SPW_SETTING(TIERS),
		.usage_status = SPW_EXIT_USAGE,
	};
	static struct spw_args args;
	static struct spw_shares shares;
	struct spw_chosen chosen;
	int status = spw_args_read(&command, argv, envp, &args);

	(void)argc;
	if (status < 0 && args.cfg.tiers[0])
		status = spw_shares_find(&args, envp, &shares);
	if (status < 0)
		status = spw_chosen_find_beside(&args, &shares, &chosen);
	if (status >= 0) {
		spw_shares_free(&shares);
		return status;
	}
	if (json) {
		put_json(&chosen, &shares, &args, why);
	} else {
		put_table(&chosen, why);
		put_kept(&shares, &args, NULL);
	}
	spw_shares_free(&shares);
	spw_chosen_free(&chosen);
	return fflush(stdout) ? SPW_EXIT_FINDINGS : SPW_EXIT_OK;
}
