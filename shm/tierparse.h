/* SPDX-License-Identifier: BSD-3-Clause */
/* tierparse.h -- what the two halves of the tier parser share */

#ifndef SPW_SHM_TIERPARSE_H
#define SPW_SHM_TIERPARSE_H

#include "shm/expand.h"
#include "shm/tierspec.h"

enum spw_place_form {
	SPW_PLACE_NONE,
	SPW_PLACE_DIR,
	SPW_PLACE_HOST,
	SPW_PLACE_BUCKET
};

struct spw_tierkind {
	const char *name;
	enum spw_place_form place;
	bool codecs;			/* its bytes may be packed */
	unsigned keys;			/* bits of enum spw_tierspec_key */
	const char *example;
};

extern const struct spw_tierkind spw_tierkinds[SPW_KINDS];

struct spw_slice {			/* of the source */
	size_t at, len;
};

struct spw_tierparser {
	struct spw_tierlist *list;
	struct spw_tierspec *tier;	/* under way */
	unsigned kinds;			/* that may be used */
	char *const *envp;
	size_t end;			/* of that tier in the source */
	struct spw_text out;		/* the list's text */
	struct spw_diag *diag;
};

/* The slice's text; it ends at a character that no part of a tier holds. */
const char *spw_slice_text(const struct spw_tierparser *p,
				 struct spw_slice s);

/* Begin a message about a slice of the tier under way. */
struct spw_diag *spw_tierparse_blame(struct spw_tierparser *p,
				     enum spw_code code, struct spw_slice s);

/* Refuse a slice with a cause and the kind's example; returns -EINVAL. */
int spw_tierparse_refuse(struct spw_tierparser *p, struct spw_slice s,
			 const char *cause);

/* Turn a failed expansion into its message; returns -EINVAL. */
int spw_tierparse_unexpanded(struct spw_tierparser *p, struct spw_slice s,
			     int r, const struct spw_expand_fault *f);

/* Expand a slice behind the list's text; *ret is where it begins. */
int spw_tierparse_expand(struct spw_tierparser *p, struct spw_slice s,
			 uint16_t *ret);

/* What follows an @, what follows a +. */
int spw_tierparse_capacity(struct spw_tierparser *p, struct spw_slice s);
int spw_tierparse_option(struct spw_tierparser *p, struct spw_slice s);

#endif
