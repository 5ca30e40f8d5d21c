/* SPDX-License-Identifier: BSD-3-Clause */
/* chosen.c -- the segments that a command is to look at */
#include "tools/chosen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/commands.h"
#include "tools/shares.h"

void
spw_chosen_say(const struct spw_args *args, enum spw_severity severity,
	       enum spw_code code, const char *job, const char *cause,
	       const char *hint)
{
	struct spw_diag d;

	spw_diag_begin(&d, severity, code);
	spw_diag_subject(&d, "job %e", job);
	spw_diag_cause(&d, "%s", cause);
	if (hint)
		spw_diag_hint(&d, "%s %e", hint, job);
	spw_diag_print(&d, args->color, STDERR_FILENO);
}

static bool
is_named(const struct spw_segment *s, char *const *names)
{
	for (; *names; names++)
		if (!strcmp(s->job, *names))
			return true;
	return false;
}

static bool
exists(const struct spw_chosen *c, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (!strcmp(c->list[i].job, name))
			return true;
	return false;
}

static void
keep_named(struct spw_chosen *c, char *const *names)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (is_named(&c->list[i], names))
			c->list[n++] = c->list[i];
		else
			spw_segment_drop(&c->list[i]);
	}
	c->n = n;
}

static int
blame_directory(const struct spw_args *args, int err)
{
	struct spw_diag d;

	spw_diag_begin(&d, SPW_ERROR, SPW_E151);
	spw_diag_subject(&d, "%e", args->cfg.shm_dir);
	if (err == -EPERM)
		spw_diag_cause(&d, "spillway.%u in it is not a directory of "
			       "yours with mode 0700", (unsigned)geteuid());
	else
		spw_diag_cause(&d, "cannot look for segments: %s",
			       spw_diag_errno(-err));
	spw_diag_print(&d, args->color, STDERR_FILENO);
	return SPW_EXIT_UNREACHABLE;
}

/* One that somebody just typed is a mistake if it is not there; one that was
 * set long ago may have gone with a reboot. */
static int
check_typed(const struct spw_args *args)
{
	if (args->cfg.origin[SPW_OPTION_SHM_DIR].from != SPW_FROM_FLAG)
		return 0;
	return access(args->cfg.shm_dir, F_OK) < 0 ? -errno : 0;
}

int
spw_chosen_find(const struct spw_args *args, struct spw_chosen *ret)
{
	return spw_chosen_find_beside(args, NULL, ret);
}

int
spw_chosen_find_beside(const struct spw_args *args,
		       const struct spw_shares *shares, struct spw_chosen *ret)
{
	char *set[] = { (char *)args->cfg.job, NULL };
	char *const *names = args->n_rest ? args->rest : set;
	int r = check_typed(args);

	if (r == 0)
		r = spw_segments_list(args->cfg.shm_dir, &ret->list, &ret->n);
	if (r < 0)
		return blame_directory(args, r);
	if (!args->n_rest && !args->cfg.job[0])
		return -1;
	for (; *names; names++) {
		if (exists(ret, *names) ||
		    (shares && spw_shares_have_job(shares, *names)))
			continue;
		spw_chosen_say(args, SPW_ERROR, SPW_E163, *names,
			       "there is none of yours on this node", NULL);
		spw_chosen_free(ret);
		return SPW_EXIT_NO_JOB;
	}
	keep_named(ret, args->n_rest ? args->rest : set);
	return -1;
}

void
spw_chosen_free(struct spw_chosen *c)
{
	spw_segments_free(c->list, c->n);
	c->list = NULL;
	c->n = 0;
}
