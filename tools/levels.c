/* SPDX-License-Identifier: BSD-3-Clause */
/* levels.c -- the tiers of a segment, as its drainer last saw them */
#include "tools/levels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/diag.h"
#include "shm/sys.h"
#include "tools/show.h"

enum { LOOK_MS = 200, SLICE_MS = 5 };

static struct spw_level_seen
see(const struct spw_levels *l, const struct spw_tierspec *spec,
    const struct spw_seg_level *from)
{
	struct spw_level_seen s = {
		.kind = spw_tierspec_kind_name(spec->kind),
		.place = spw_tierspec_place(&l->list, spec),
		.state = (enum spw_level_state)atomic_load(&from->state),
		.err = atomic_load(&from->err),
		.durable = atomic_load(&from->durable),
		.objects = atomic_load(&from->objects),
		.capacity = atomic_load(&from->capacity),
		.used = atomic_load(&from->used),
	};

	/* It may be written over while we look; the copy ends in any case. */
	memcpy(s.caution, from->caution, sizeof(s.caution));
	s.caution[sizeof(s.caution) - 1] = '\0';
	return s;
}

void
spw_levels_see(const struct spw_map *map, struct spw_levels *ret)
{
	struct spw_diag d;

	ret->n = 0;
	if (!map->fixed.tiers[0] ||
	    spw_tierspec_parse(map->fixed.tiers, "segment", SPW_KINDS_ALL,
			       NULL, &ret->list, &d) < 0)
		return;
	for (unsigned i = 0; i < ret->list.n && ret->n < SPW_SEG_LEVELS; i++) {
		const struct spw_tierspec *spec = &ret->list.tier[i];

		if (spec->kind == SPW_KIND_RAM)
			continue;
		ret->level[ret->n] = see(ret, spec,
					 &map->seg->levels[ret->n]);
		ret->n++;
	}
}

static bool
is_open(const struct spw_level_seen *s)
{
	return s->state == SPW_LEVEL_OPEN || s->state == SPW_LEVEL_DEAF;
}

static const char *
trouble(const struct spw_level_seen *s)
{
	if (s->state == SPW_LEVEL_DEAF || s->err == ETIMEDOUT)
		return "does not answer";
	return spw_diag_errno(s->err);
}

static void
show(const struct spw_level_seen *s)
{
	char used[SPW_SHOW_MAX], cap[SPW_SHOW_MAX], objects[SPW_SHOW_MAX];

	printf("  tier %-6s  ", s->kind);
	spw_show_name(stdout, s->place);
	if (is_open(s))
		printf("  %s/%s in %s, %s%s\n", spw_show_size(s->used, used),
		       spw_show_size(s->capacity, cap),
		       spw_show_count(s->objects, "object", objects),
		       s->durable ? "durable" : "not durable",
		       s->state == SPW_LEVEL_DEAF ? ", does not answer" : "");
	else if (s->state == SPW_LEVEL_FAILED)
		printf("  not used: %s\n", trouble(s));
	else
		puts("  not looked at yet");
	if (is_open(s) && s->caution[0])
		printf("  tier %-6s  caution: %s\n", s->kind, s->caution);
}

void
spw_levels_show(const struct spw_levels *l)
{
	for (unsigned i = 0; i < l->n; i++)
		show(&l->level[i]);
}

void
spw_levels_put(const struct spw_levels *l, struct spw_json *j)
{
	static const char *const states[] = {
		[SPW_LEVEL_UNKNOWN] = "unknown", [SPW_LEVEL_OPEN] = "open",
		[SPW_LEVEL_DEAF] = "deaf", [SPW_LEVEL_FAILED] = "failed",
	};

	spw_json_open(j, "tiers", '[');
	for (unsigned i = 0; i < l->n; i++) {
		const struct spw_level_seen *s = &l->level[i];

		spw_json_open(j, NULL, '{');
		spw_json_string(j, "kind", s->kind);
		spw_json_string(j, "place", s->place);
		spw_json_string(j, "state", states[s->state <=
				SPW_LEVEL_FAILED ? s->state : 0]);
		if (s->state == SPW_LEVEL_FAILED)
			spw_json_string(j, "error", trouble(s));
		if (is_open(s)) {
			spw_json_number(j, "capacity", s->capacity);
			spw_json_number(j, "used", s->used);
			spw_json_number(j, "objects", s->objects);
			spw_json_bool(j, "durable", s->durable);
		}
		if (is_open(s) && s->caution[0])
			spw_json_string(j, "caution", s->caution);
		spw_json_close(j, '}');
	}
	spw_json_close(j, ']');
}

static bool
is_any_unknown(const struct spw_levels *l)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->level[i].state == SPW_LEVEL_UNKNOWN)
			return true;
	return false;
}

static unsigned
warn(const struct spw_level_seen *s, bool color, bool quiet)
{
	bool failed = s->state == SPW_LEVEL_FAILED;
	struct spw_diag d;

	if (!failed && (!is_open(s) || !s->caution[0]))
		return 0;
	spw_diag_begin(&d, SPW_WARNING, failed ? SPW_W117 : SPW_W116);
	spw_diag_subject(&d, "tier %s: %e", s->kind, s->place);
	if (failed)
		spw_diag_cause(&d, "is not used: %s", trouble(s));
	else
		spw_diag_cause(&d, "%s", s->caution);
	if (!quiet)
		spw_diag_print(&d, color, STDERR_FILENO);
	return 1;
}

unsigned
spw_levels_warn(const struct spw_map *map, bool color, bool quiet)
{
	struct spw_levels *l = malloc(sizeof(*l));
	unsigned n = 0;

	if (!l)
		return 0;
	spw_levels_see(map, l);
	for (int ms = 0; is_any_unknown(l) && ms < LOOK_MS; ms += SLICE_MS) {
		spw_sys_sleep_us(SLICE_MS * 1000);
		spw_levels_see(map, l);
	}
	for (unsigned i = 0; i < l->n; i++)
		n += warn(&l->level[i], color, quiet);
	free(l);
	return n;
}

/* The first that is not well. */
static bool
blame(const struct spw_map *map, char *buf, size_t size)
{
	struct spw_levels *l = malloc(sizeof(*l));
	bool any = false;

	if (!l)
		return false;
	spw_levels_see(map, l);
	for (unsigned i = 0; i < l->n && !any; i++) {
		const struct spw_level_seen *s = &l->level[i];

		any = s->state == SPW_LEVEL_DEAF ||
		      s->state == SPW_LEVEL_FAILED;
		if (any)
			snprintf(buf, size, "tier %s, %s: %s", s->kind,
				 s->place, trouble(s));
	}
	free(l);
	return any;
}

const char *
spw_levels_why(const struct spw_map *map, const struct spw_drain_left *left,
	       int err, char why[SPW_LEVELS_WHY])
{
	/* A file's error may be an old one, if all the rest is in tiers. */
	if (left->below && (!left->err || left->below == left->bytes) &&
	    blame(map, why, SPW_LEVELS_WHY))
		return why;
	if (!left->err && err == -ETIMEDOUT)
		return "not all is home in time";
	return spw_diag_errno(left->err ? left->err : -err);
}
