/* SPDX-License-Identifier: BSD-3-Clause */
/* shares.c -- the shares that segments have, or had, in the tiers */
#include "tools/shares.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "planner/store.h"
#include "shm/sys.h"
#include "tools/answers.h"
#include "tools/commands.h"
#include "tools/segments.h"

static bool
has_owner(const struct spw_shares *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->owner[i].name, name))
			return true;
	return false;
}

static int
seen(void *arg, const char *name)
{
	struct spw_shares *s = arg;
	const char *dot = strrchr(name, '.');
	struct spw_share_owner *more;

	if (!dot || strlen(name) >= sizeof(more->name) || has_owner(s, name))
		return 0;
	more = realloc(s->owner, (s->n + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	s->owner = more;
	more += s->n++;
	snprintf(more->name, sizeof(more->name), "%s", name);
	snprintf(more->job, sizeof(more->job), "%.*s", (int)(dot - name),
		 name);
	more->made = strtoull(dot + 1, NULL, 16);
	more->has_segment = false;
	return 0;
}

static void
blame(const struct spw_args *args, const struct spw_replay_place *p, int err)
{
	struct spw_diag d;

	spw_diag_begin(&d, SPW_WARNING, SPW_E111);
	spw_diag_subject(&d, "tier %s: %e", p->ops->kind, p->place);
	spw_diag_cause(&d, "cannot look for shares: %s", err == -ETIMEDOUT
		       ? "does not answer" : spw_diag_errno(-err));
	spw_diag_print(&d, args->color, STDERR_FILENO);
}

static int
look(struct spw_shares *s, const struct spw_replay_place *p)
{
	struct stat st;
	int r = spw_answers_list(p->ops, p->place);

	if (r == 0)
		r = spw_sys_fstatat(AT_FDCWD, p->place, &st, 0);
	return r < 0 ? r : spw_tier_shares(p->ops, p->place, seen, s);
}

static void
look_at_places(struct spw_shares *s, const struct spw_args *args)
{
	for (unsigned i = 0; i < s->tiers.n; i++) {
		const struct spw_tierspec *spec = &s->tiers.tier[i];
		struct spw_replay_place p = {
			spw_tier_by_kind(spw_tierspec_kind_name(spec->kind)),
			spw_tierspec_place(&s->tiers, spec),
		};
		int r;

		if (!p.ops)
			continue;
		r = look(s, &p);
		if (r < 0) {
			blame(args, &p, r);
			s->unreachable = true;
			continue;
		}
		s->place[s->nplaces++] = p;
	}
}

/* One that cannot be read may still be its owner; not one that is older than
 * the last boot. */
static bool
is_owner(const struct spw_segment *seg, const struct spw_share_owner *o)
{
	char name[SPW_STORE_SHARE];

	if (seg->state == SPW_SEGMENT_UNREADABLE)
		return seg->err != -ESTALE && !strcmp(seg->job, o->job);
	spw_store_share(&seg->map, name);
	return !strcmp(name, o->name);
}

/* Looked for after the shares: a segment is there before its shares are. */
static int
find_owners(struct spw_shares *s, const struct spw_args *args)
{
	struct spw_segment *list;
	size_t n;
	int r = spw_segments_list(args->cfg.shm_dir, &list, &n);

	if (r < 0)
		return r;
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < n; k++)
			if (is_owner(&list[k], &s->owner[i]))
				s->owner[i].has_segment = true;
	spw_segments_free(list, n);
	return 0;
}

static int
compare(const void *a, const void *b)
{
	const struct spw_share_owner *x = a, *y = b;

	if (x->made != y->made)
		return x->made < y->made ? -1 : 1;
	return strcmp(x->name, y->name);
}

int
spw_shares_find(const struct spw_args *args, char **envp,
		struct spw_shares *ret)
{
	struct spw_diag d;
	int r;

	memset(ret, 0, sizeof(*ret));
	if (spw_config_tiers(&args->cfg, envp, &ret->tiers, &d) < 0) {
		spw_diag_print(&d, args->color, STDERR_FILENO);
		return SPW_EXIT_USAGE;
	}
	look_at_places(ret, args);
	r = find_owners(ret, args);
	if (r < 0) {
		spw_shares_free(ret);
		spw_diag_begin(&d, SPW_ERROR, SPW_E151);
		spw_diag_subject(&d, "%e", args->cfg.shm_dir);
		spw_diag_cause(&d, "cannot look for segments: %s",
			       spw_diag_errno(-r));
		spw_diag_print(&d, args->color, STDERR_FILENO);
		return SPW_EXIT_UNREACHABLE;
	}
	if (ret->n)
		qsort(ret->owner, ret->n, sizeof(*ret->owner), compare);
	return -1;
}

void
spw_shares_free(struct spw_shares *s)
{
	free(s->owner);
	s->owner = NULL;
	s->n = 0;
}

bool
spw_shares_have_job(const struct spw_shares *s, const char *job)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->owner[i].job, job))
			return true;
	return false;
}

bool
spw_shares_is_meant(const struct spw_share_owner *o,
		    const struct spw_args *args)
{
	if (!args->n_rest)
		return !args->cfg.job[0] || !strcmp(args->cfg.job, o->job);
	for (int i = 0; i < args->n_rest; i++)
		if (!strcmp(args->rest[i], o->job))
			return true;
	return false;
}
