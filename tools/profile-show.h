/* SPDX-License-Identifier: BSD-3-Clause */
/* profile-show.h -- what spillway profile found, for people and programs */
#ifndef SPW_TOOLS_PROFILE_SHOW_H
#define SPW_TOOLS_PROFILE_SHOW_H

#include "tools/profile.h"

struct spw_profile_shown {
	struct spw_profile_set set;
	struct spw_profile_costs costs;
	struct spw_profile_tiers tiers;
	const struct spw_tierlist *list;
	const char *seed;		/* "": nothing was kept */
};

void spw_profile_print(const struct spw_profile_shown *s);
void spw_profile_print_json(const struct spw_profile_shown *s);

#endif
