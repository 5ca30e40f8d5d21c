/* SPDX-License-Identifier: BSD-3-Clause */
/* verify.h -- whether what was drained is really there: sums, read back */
#ifndef SPW_TOOLS_VERIFY_H
#define SPW_TOOLS_VERIFY_H

#include "shm/seg.h"

struct spw_proofs;			/* sums of all dirty ranges */

struct spw_verdict {
	uint64_t good_bytes, bad_bytes;	/* read back */
	uint64_t unseen_bytes;		/* the file has another name now */
	uint32_t bad_files;
};

/* Before the drain, when nobody writes; the caller is the drainer. */
int spw_proofs_take(const struct spw_map *map, struct spw_proofs **ret);

/* Afterwards: reads the files at their paths. */
void spw_proofs_check(const struct spw_proofs *p, struct spw_verdict *ret);
void spw_proofs_free(struct spw_proofs *p);

#endif
