/* SPDX-License-Identifier: BSD-3-Clause */
/* features.h -- which optional parts this installation has, and why not */

#ifndef SPW_TIERS_FEATURES_H
#define SPW_TIERS_FEATURES_H

#include <stdbool.h>

struct spw_feature {
	const char *kind;	/* "codec", "library", "checksum" */
	const char *name;
	bool present;
	const char *detail;	/* version and place, or what is missing */
	const char *hint;	/* what to do about it, or NULL */
};

/* A result other than 0 ends the listing and is returned. */
typedef int spw_feature_cb(const struct spw_feature *feature, void *arg);

/* Every optional part, present or not, in a fixed order.  Opens what there
 * is, so it is for the command and the drainer, not for the user's program.
 * module_dir as in spw_module_dir.
 */
int spw_features_each(const char *module_dir, spw_feature_cb *cb, void *arg);

/* The same as lines of text on fd: kind, name, yes or no, detail.  0, or a
 * negative errno if it could not be written.
 */
int spw_features_print(int fd, const char *module_dir);

#endif
