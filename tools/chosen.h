/* SPDX-License-Identifier: BSD-3-Clause */
/* chosen.h -- the segments that a command is to look at */
#ifndef SPW_TOOLS_CHOSEN_H
#define SPW_TOOLS_CHOSEN_H

#include "tools/args.h"
#include "tools/segments.h"

struct spw_chosen {
	struct spw_segment *list;
	size_t n;
};

/*
 * The jobs named as operands; else that of --job or SPILLWAY_JOB; else all
 * of this user. Negative: go on; else the exit status, with the reason said.
 * Free with spw_chosen_free.
 */
int spw_chosen_find(const struct spw_args *args, struct spw_chosen *ret);

/* The same where a job may also have shares and no segment. */
struct spw_shares;
int spw_chosen_find_beside(const struct spw_args *args,
			   const struct spw_shares *shares,
			   struct spw_chosen *ret);
void spw_chosen_free(struct spw_chosen *c);

/* One message in the usual form, made of plain texts. */
void spw_chosen_say(const struct spw_args *args, enum spw_severity severity,
		    enum spw_code code, const char *job, const char *cause,
		    const char *hint);

#endif
