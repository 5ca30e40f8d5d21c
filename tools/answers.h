/* SPDX-License-Identifier: BSD-3-Clause */
/* answers.h -- whether the place of a tier, or a file, answers in time */
#ifndef SPW_TOOLS_ANSWERS_H
#define SPW_TOOLS_ANSWERS_H

#include <sys/stat.h>

#include "planner/stub.h"
#include "shm/conf.h"

struct spw_tier_ops;

/* Whether shares there can be listed: 0, or -ETIMEDOUT after three seconds: its
 * file system stalls. */
int spw_answers_list(const struct spw_tier_ops *ops, const char *place);

struct spw_looked {
	int err;
	struct stat st;
	struct spw_stub stub;		/* if it is_kept, in the tiers */
	bool is_kept;
};

/* What stat(2) says of a file; also -ETIMEDOUT. */
int spw_answers_look(const char *path, struct spw_looked *ret);

/* As spw_config_check, unless some place does not answer: -EINVAL with the
 * reason. */
int spw_answers_check(const struct spw_config *cfg,
		      struct spw_tierlist *tiers, struct spw_diag *ret_diag);

/* Nothing can be made there within three seconds. */
bool spw_answers_not(const char *place);

#endif
