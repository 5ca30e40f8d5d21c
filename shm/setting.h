/* SPDX-License-Identifier: BSD-3-Clause */
/* setting.h -- one value on its way into the settings */

#ifndef SPW_SHM_SETTING_H
#define SPW_SHM_SETTING_H

#include "shm/conf.h"

struct spw_setting {
	struct spw_config *cfg;
	struct spw_diags *diags;
	char *const *envp;		/* for ${NAME}; NULL: all unset */
	enum spw_option_id id;
	const char *value;		/* NULL: the flag alone */
	struct spw_origin origin;
};

/*
 * Check the value and put it in its place, with its origin.  An empty value
 * is the built-in one.  A list from a stronger source replaces a weaker
 * one's; from the same source it goes on.  0, or -EINVAL with an error in
 * the diags.
 */
int spw_setting_put(const struct spw_setting *s);

/* The index of a setting's name of n bytes, or SPW_OPTION_COUNT. */
enum spw_option_id spw_setting_find(const char *name, size_t n);

/* The nearest setting's index, or SPW_OPTION_COUNT. */
enum spw_option_id spw_setting_near(const char *name, size_t n);

/* Append the name of a setting in its source: --x, SPILLWAY_X, file:3: x. */
void spw_setting_subject(const struct spw_config *cfg, enum spw_option_id id,
			 struct spw_origin origin, struct spw_text *t);

#endif
