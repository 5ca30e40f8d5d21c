/* SPDX-License-Identifier: BSD-3-Clause */
/* answers.h -- whether the place of a tier answers, before it is used */
#ifndef SPW_TOOLS_ANSWERS_H
#define SPW_TOOLS_ANSWERS_H

#include "shm/conf.h"

/* 0, or -ETIMEDOUT after three seconds: its file system stalls. writes: also
 * for who wants to make a file there. */
int spw_answers(const char *place, bool writes);

/* As spw_config_check, unless some place does not answer: -EINVAL with the
 * reason. */
int spw_answers_check(const struct spw_config *cfg,
		      struct spw_tierlist *tiers, struct spw_diag *ret_diag);

#endif
