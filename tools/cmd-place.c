/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd-place.c -- spillway place: where each part of a file is, and why */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/sys.h"
#include "tiers/codec.h"
#include "tools/answers.h"
#include "tools/chosen.h"
#include "tools/commands.h"
#include "tools/decided.h"
#include "tools/parts.h"
#include "tools/show.h"

static const char usage[] =
	"usage: spillway place [--json] [-v] [OPTION]... FILE...\n"
	"       spillway place --log [--json | --follow] [OPTION]...\n"
	"\n"
	"Show for each part of a file where it is now: in memory, in a tier\n"
	"and packed how, or home; and what was expected of that.\n"
	"\n"
	"  spillway place results.h5\n"
	"  spillway place -v results.h5          # every object by itself\n"
	"  spillway place --log --follow --job 482113\n"
	"  spillway place --json *.dat | jq '.files[].parts[].where'\n"
	"\n"
	"  --log                 show the last decisions of the drainers\n"
	"  --follow              and go on while their jobs do\n"
	"  --json                write JSON\n"
	"  --help                this text\n";

enum { FOLLOW_US = 200000 };

struct request {
	bool log, follow, json;
	const struct spw_args *args;
	struct spw_json j;
	int status;
};

static const char *
where_name(const struct spw_parts *p, const struct spw_part *part,
	   char buf[SPW_PARTS_TIER])
{
	switch (part->where) {
	case SPW_PART_MEMORY:
		return "memory";
	case SPW_PART_TIER:
		return part->object == SPW_NONE ? "a tier"
		       : spw_parts_tier(&p->tiers,
					p->objects[part->object].tier, buf);
	default:
		return "home";
	}
}

static const char *
pack_name(const struct spw_parts_object *o, char buf[SPW_PARTS_PACK])
{
	return spw_parts_pack(o->npacked ? o->codec : SPW_CODEC_NONE,
			      o->level, o->filter, o->width, buf);
}

/* Shown as one line: the same place and the same packing. */
static bool
is_alike(const struct spw_parts *p, const struct spw_part *a,
	 const struct spw_part *b)
{
	const struct spw_parts_object *x, *y;

	if (a->where != b->where || a->cached != b->cached ||
	    (a->object == SPW_NONE) != (b->object == SPW_NONE))
		return false;
	if (a->object == SPW_NONE)
		return true;
	x = &p->objects[a->object];
	y = &p->objects[b->object];
	return x->tier == y->tier && !x->npacked == !y->npacked &&
	       x->codec == y->codec && x->level == y->level &&
	       x->filter == y->filter && x->width == y->width &&
	       x->known == y->known &&
	       x->decision.why == y->decision.why;
}

struct sums {				/* of objects in one line */
	uint64_t stored, expected;
	unsigned why;
	bool known;
};

static void
add_object(const struct spw_parts *p, const struct spw_part *part,
	   uint32_t last, struct sums *s)
{
	const struct spw_parts_object *o;

	if (part->object == SPW_NONE || part->object == last)
		return;
	o = &p->objects[part->object];
	s->stored += o->stored;
	s->known |= o->known;
	s->why |= o->decision.why;
	s->expected += o->decision.expect_stored;
}

static void
print_why(const struct sums *s)
{
	char why[SPW_DECIDED_WHY], size[SPW_SHOW_MAX];

	fputs("  ", stdout);
	fputs(s->known ? spw_decided_why(s->why, why) : "not in the log",
	      stdout);
	if (s->known && s->why & SPW_WHY_CHOSEN)
		printf(", expected %s", spw_show_size(s->expected, size));
}

static void
print_line(const struct spw_parts *p, const struct spw_part *part,
	   uint64_t to, const struct sums *s)
{
	char size[SPW_SHOW_MAX], stored[SPW_SHOW_MAX];
	char tier[SPW_PARTS_TIER], pack[SPW_PARTS_PACK];

	printf("  %14" PRIu64 "  %9s  %-20s", part->from,
	       spw_show_size(to - part->from, size),
	       where_name(p, part, tier));
	if (part->object != SPW_NONE) {
		printf("  %-18s  %9s",
		       pack_name(&p->objects[part->object], pack),
		       spw_show_size(s->stored, stored));
		print_why(s);
	}
	if (part->cached && !part->dirty)
		fputs("  also in memory", stdout);
	putchar('\n');
}

static void
print_parts(const struct request *req, const struct spw_parts *p)
{
	for (size_t i = 0, next; i < p->n; i = next) {
		struct sums s = { 0 };
		uint32_t last = SPW_NONE;

		for (next = i; next < p->n &&
		     (next == i || (!req->args->cfg.verbose &&
				    is_alike(p, &p->part[i],
					     &p->part[next]))); next++) {
			add_object(p, &p->part[next], last, &s);
			last = p->part[next].object;
		}
		print_line(p, &p->part[i], p->part[next - 1].to, &s);
	}
}

static void
put_object(struct spw_json *j, const struct spw_parts *p,
	   const struct spw_parts_object *o)
{
	char tier[SPW_PARTS_TIER], pack[SPW_PARTS_PACK];

	spw_json_open(j, "object", '{');
	spw_json_string(j, "tier", spw_parts_tier(&p->tiers, o->tier, tier));
	spw_json_number(j, "place", o->place);
	spw_json_number(j, "sequence", o->seq);
	spw_json_number(j, "offset", o->offset);
	spw_json_number(j, "length", o->length);
	spw_json_number(j, "stored", o->stored);
	spw_json_string(j, "packed", pack_name(o, pack));
	spw_json_number(j, "blocks", o->nblocks);
	spw_json_number(j, "blocks_packed", o->npacked);
	if (o->known)
		spw_decided_put_costs(j, &o->decision);
	spw_json_close(j, '}');
}

static void
put_parts(struct spw_json *j, const struct spw_parts *p)
{
	static const char *const names[] = {
		[SPW_PART_HOME] = "home", [SPW_PART_MEMORY] = "memory",
		[SPW_PART_TIER] = "tier",
	};

	spw_json_open(j, "parts", '[');
	for (size_t i = 0; i < p->n; i++) {
		const struct spw_part *part = &p->part[i];

		spw_json_open(j, NULL, '{');
		spw_json_number(j, "offset", part->from);
		spw_json_number(j, "length", part->to - part->from);
		spw_json_string(j, "where", names[part->where]);
		spw_json_bool(j, "in_memory", part->cached);
		if (part->object != SPW_NONE)
			put_object(j, p, &p->objects[part->object]);
		spw_json_close(j, '}');
	}
	spw_json_close(j, ']');
}

static void
put_file(struct request *req, const char *path, const char *job,
	 const struct spw_parts *p)
{
	const char *why = p->bypass ? spw_bypass_name(p->bypass) : NULL;
	char size[SPW_SHOW_MAX];

	if (req->json) {
		spw_json_open(&req->j, NULL, '{');
		spw_json_string(&req->j, "path", path);
		if (job)
			spw_json_string(&req->j, "job", job);
		if (why)
			spw_json_string(&req->j, "bypass", why);
		spw_json_number(&req->j, "size", p->size);
		put_parts(&req->j, p);
		spw_json_close(&req->j, '}');
		return;
	}
	spw_show_name(stdout, path);
	printf(": %s", spw_show_size(p->size, size));
	if (job) {
		fputs(", job ", stdout);
		spw_show_name(stdout, job);
	}
	if (why)
		printf(", served by the kernel: %s", why);
	putchar('\n');
	print_parts(req, p);
}

static void
blame_file(struct request *req, const char *path, int err)
{
	struct spw_diag d;

	spw_diag_begin(&d, SPW_ERROR, SPW_NO_CODE);
	spw_diag_subject(&d, "%e", path);
	spw_diag_cause(&d, "cannot be looked at: %s", err == -ETIMEDOUT
		       ? "its file system stalls" : spw_diag_errno(-err));
	spw_diag_print(&d, req->args->color, STDERR_FILENO);
	req->status = SPW_EXIT_PARTLY;
}

static void
put_kept(struct request *req, const char *path, const struct spw_stub *stub)
{
	char size[SPW_SHOW_MAX];

	if (!req->json) {
		spw_show_name(stdout, path);
		printf(": %s, kept in %s on %s, in %" PRIu32 " objects\n",
		       spw_show_size(stub->size, size), stub->tiers,
		       stub->host, stub->objects);
		return;
	}
	spw_json_open(&req->j, NULL, '{');
	spw_json_string(&req->j, "path", path);
	spw_json_number(&req->j, "size", stub->size);
	spw_json_open(&req->j, "kept", '{');
	spw_json_string(&req->j, "tiers", stub->tiers);
	spw_json_string(&req->j, "host", stub->host);
	spw_json_string(&req->j, "share", stub->share);
	spw_json_number(&req->j, "objects", stub->objects);
	spw_json_close(&req->j, '}');
	spw_json_open(&req->j, "parts", '[');
	spw_json_close(&req->j, ']');
	spw_json_close(&req->j, '}');
}

/* Of a file that the kernel serves, its segment knows what is still on the way
 * home; if that is nothing, the kernel knows better.
 */
static int
trust_kernel(const struct stat *st, struct spw_parts *p)
{
	enum spw_bypass why = p->bypass;
	int r;

	if (!why)
		return 0;
	for (size_t i = 0; i < p->n; i++)
		if (p->part[i].where != SPW_PART_HOME)
			return 0;
	spw_parts_free(p);
	r = spw_parts_at_home((uint64_t)st->st_size, p);
	p->bypass = why;
	return r;
}

/* The segment that knows most of it: one that holds bytes, or any. */
static void
place_file(struct request *req, const struct spw_chosen *c, const char *path)
{
	struct spw_parts parts;
	const char *job = NULL;
	struct spw_file_id id;
	struct spw_looked a;
	int r = spw_answers_look(path, &a);

	if (r == 0 && !S_ISREG(a.st.st_mode))
		r = -EINVAL;
	if (r < 0) {
		blame_file(req, path, r);
		return;
	}
	id = (struct spw_file_id){ a.st.st_dev, a.st.st_ino };
	r = -ENOENT;
	for (size_t i = 0; i < c->n && r == -ENOENT; i++)
		if (c->list[i].state != SPW_SEGMENT_UNREADABLE) {
			job = c->list[i].job;
			r = spw_parts_find(&c->list[i].map, &id, &parts);
		}
	if (r == -ENOENT && a.is_kept) {
		put_kept(req, path, &a.stub);
		return;
	}
	if (r == -ENOENT) {
		job = NULL;
		r = spw_parts_at_home((uint64_t)a.st.st_size, &parts);
	}
	if (r == 0)
		r = trust_kernel(&a.st, &parts);
	if (r < 0) {
		blame_file(req, path, r);
		return;
	}
	if (parts.blind)
		spw_chosen_say(req->args, SPW_WARNING, SPW_E111, job,
			       "a tier of it cannot be looked at", NULL);
	put_file(req, path, job, &parts);
	spw_parts_free(&parts);
}

static void
place_files(struct request *req, const struct spw_chosen *c)
{
	if (req->json) {
		spw_json_begin(&req->j, stdout);
		spw_json_open(&req->j, NULL, '{');
		spw_json_open(&req->j, "files", '[');
	}
	for (int i = 0; i < req->args->n_rest; i++)
		place_file(req, c, req->args->rest[i]);
	if (req->json) {
		spw_json_close(&req->j, ']');
		spw_json_close(&req->j, '}');
		spw_json_end(&req->j);
	}
}

static void
read_tiers(const struct spw_segment *s, struct spw_tierlist *ret)
{
	struct spw_diag d;

	if (!s->map.fixed.tiers[0] ||
	    spw_tierspec_parse(s->map.fixed.tiers, "segment", SPW_KINDS_ALL,
			       NULL, ret, &d) < 0)
		ret->n = 0;
}

static void
put_log(struct request *req, const struct spw_chosen *c)
{
	static struct spw_tierlist tiers;

	spw_json_begin(&req->j, stdout);
	spw_json_open(&req->j, NULL, '{');
	spw_json_open(&req->j, "jobs", '[');
	for (size_t i = 0; i < c->n; i++) {
		if (c->list[i].state == SPW_SEGMENT_UNREADABLE)
			continue;
		read_tiers(&c->list[i], &tiers);
		spw_json_open(&req->j, NULL, '{');
		spw_json_string(&req->j, "job", c->list[i].job);
		spw_json_number(&req->j, "so_far",
				spw_decision_count(&c->list[i].map));
		spw_decided_put(&req->j, &c->list[i].map, &tiers);
		spw_json_close(&req->j, '}');
	}
	spw_json_close(&req->j, ']');
	spw_json_close(&req->j, '}');
	spw_json_end(&req->j);
}

static void
print_log(const struct request *req, const struct spw_segment *s)
{
	static struct spw_tierlist tiers;
	uint64_t next;

	if (s->state == SPW_SEGMENT_UNREADABLE)
		return;
	read_tiers(s, &tiers);
	spw_show_name(stdout, s->job);
	printf(": %" PRIu64 " decisions so far; expected and actual size, "
	       "ms to pack and to write\n", spw_decision_count(&s->map));
	next = spw_decided_print(&s->map, &tiers, 0);
	while (req->follow && access(s->path, F_OK) == 0 &&
	       fflush(stdout) == 0) {
		spw_sys_sleep_us(FOLLOW_US);
		next = spw_decided_print(&s->map, &tiers, next);
	}
}

static void
show_log(struct request *req, const struct spw_chosen *c)
{
	if (req->json) {
		put_log(req, c);
		return;
	}
	if (!c->n)
		puts("no job of yours on this node");
	for (size_t i = 0; i < c->n; i++)
		print_log(req, &c->list[i]);
}

static int
check_words(const struct request *req)
{
	const char *cause = NULL;

	if (req->log && req->args->n_rest)
		cause = "--log takes no file";
	else if (!req->log && !req->args->n_rest)
		cause = "a file, or --log, is missing";
	else if (req->follow && (!req->log || req->json))
		cause = "--follow goes with --log alone";
	if (!cause)
		return -1;
	fprintf(stderr, "spillway: place: %s\n", cause);
	return SPW_EXIT_USAGE;
}

int
spw_cmd_place(int argc, char **argv, char **envp)
{
	static struct spw_args args;
	struct request req = { .args = &args, .status = SPW_EXIT_OK };
	const struct spw_switch own[] = {
		{ "--log", &req.log, NULL }, { "--follow", &req.follow, NULL },
		{ "--json", &req.json, NULL }, { NULL, NULL, NULL },
	};
	const struct spw_command command = {
		.name = "place", .usage = usage, .own = own,
		.settings = SPW_SETTINGS_LOOK,
		.usage_status = SPW_EXIT_USAGE,
	};
	static struct spw_args jobs;	/* the same; operands are no jobs */
	struct spw_chosen chosen;
	int status = spw_args_read(&command, argv, envp, &args);

	(void)argc;
	if (status < 0)
		status = check_words(&req);
	jobs = args;
	jobs.n_rest = 0;
	if (status < 0)
		status = spw_chosen_find(&jobs, &chosen);
	if (status >= 0)
		return status;
	(void)spw_codec_load(NULL);	/* for the names alone */
	if (req.log)
		show_log(&req, &chosen);
	else
		place_files(&req, &chosen);
	spw_chosen_free(&chosen);
	return fflush(stdout) ? SPW_EXIT_FINDINGS : req.status;
}
