/* SPDX-License-Identifier: BSD-3-Clause */
/* claims.h -- which jobs of a user have which files: at most one caches */
#ifndef SPW_SHM_CLAIMS_H
#define SPW_SHM_CLAIMS_H

#include "shm/files.h"

/*
 * The table lies beside the segments, in DIR/spillway.UID/claims, and every
 * process of every job maps it. A job claims a file when it makes a record of
 * it. Who finds that others have claims serves the file by the kernel and
 * makes them leave it (interpose/jobs.c). So a record that is not bypassed
 * means that no other job has the file open, for as long as it is there.
 *
 * A claim is made before its record and dropped after it, both under the lock
 * of the record's bucket: who sees a claim and finds no record under that
 * lock knows that the job does not have the file.
 */
struct spw_claims;

struct spw_claimant {			/* another job that claims a file */
	char path[SPW_SEG_PATH_MAX];	/* its segment, */
	uint64_t ino, created;		/* and that file's number and time */
	uint32_t job, gen;		/* its entry in the table */
};

/* Maps the table of the directory DIR/spillway.UID, one a process; made if
 * `make`. NULL, with a negative errno, when there is none or it cannot be
 * used: -EPROTO, another version; -EBADMSG, damaged; -EPERM, not ours. */
struct spw_claims *spw_claims_open(const char *dir, bool make, int *ret_err);

/* The same if it is mapped already, or NULL. */
struct spw_claims *spw_claims_mapped(void);

/* Whether this process has the table mapped there. */
bool spw_claims_lie_at(uint64_t at);

/* Enters the job into the table, from which map->claims is taken later. */
int spw_claims_join(struct spw_map *map, const char *dir);

/* After the segment was removed: what it had claimed is free. The last one
 * takes the table along. */
void spw_claims_part(struct spw_map *map);

enum spw_claim_result {
	SPW_CLAIM_ALONE,		/* nobody else claims it */
	SPW_CLAIM_CONTESTED,		/* others do */
	SPW_CLAIM_STALE,		/* nobody, but others may have until */
};					/* a moment ago: look at it again */

/* For files.c. Claims the file; dropped is what spw_claims_dropped said
 * before the caller looked at it. One of the above, or a negative errno.
 * Without a table, in tests of the core, one is always alone. */
int spw_claim(struct spw_map *map, const struct spw_file_id *id,
	      uint32_t dropped);
uint32_t spw_claims_dropped(struct spw_map *map);
void spw_claim_drop(struct spw_map *map, const struct spw_file_id *id);

/* How many jobs other than that of `map`, which may be NULL, claim the file;
 * the first max of them are put into list. */
unsigned spw_claim_others(struct spw_claims *c, const struct spw_map *map,
			  const struct spw_file_id *id,
			  struct spw_claimant *list, unsigned max);

/* The claimant's segment is gone, and so is its claim. */
void spw_claim_void(struct spw_claims *c, const struct spw_claimant *who,
		    const struct spw_file_id *id);

#endif
