/* SPDX-License-Identifier: BSD-3-Clause */
/* claimtable.h -- the table of claims in memory, and who enters it */
#ifndef SPW_SHM_CLAIMTABLE_H
#define SPW_SHM_CLAIMTABLE_H

#include "shm/claims.h"

/*
 * For claims.c (chains of claims) and for the two below it: claimtable.c, which
 * makes the table, maps it and takes it away, and claimjobs.c, which enters
 * jobs there and has them leave. Who may do what to it when is told in claims.c.
 */
enum {
	SPW_CLAIM_STRIPES = 64, SPW_CLAIM_HEADS = 128, SPW_CLAIM_JOBS = 256,
	SPW_CLAIM_MOST = 4096,		/* of a stripe */
};

struct spw_claim {
	uint64_t dev, ino;
	uint32_t job, gen;		/* void when the job has another gen */
	_Atomic uint32_t next;		/* in the chain, or unused: index + 1 */
	uint32_t pad;
};
static_assert(sizeof(struct spw_claim) == 32, "stored in the table");

struct spw_claim_stripe {
	pthread_mutex_t lock;
	_Atomic uint32_t ready;		/* claims whose memory is reserved */
	_Atomic uint32_t unused;	/* chain of those: index + 1 */
	_Atomic uint32_t changes;	/* bumped when claims are taken out */
	_Atomic uint32_t heads[SPW_CLAIM_HEADS];
	_Atomic uint64_t at_large[SPW_CLAIM_JOBS / 64];	/* may have any of
							 * its files */
};

struct spw_claim_job {
	_Atomic uint32_t gen;		/* odd: in use */
	_Atomic uint32_t taken;		/* the same, or being filled in */
	uint64_t ino, created;		/* the segment's */
	char name[SPW_JOB_MAX + 8];
};

struct spw_claims_fixed {		/* set once, under the checksum */
	uint64_t magic;
	uint32_t version, layout;
	uint64_t size;
	uint32_t uid, pad;
	char boot_id[40];
};

struct spw_claims_shared {
	struct spw_claims_fixed fixed;
	uint32_t crc;
	_Atomic uint32_t gone;		/* its name is: take the new one */
	_Atomic uint32_t dropped;	/* bumped when claims go */
	struct spw_claim_job jobs[SPW_CLAIM_JOBS];
	struct spw_claim_stripe stripes[SPW_CLAIM_STRIPES];
};

#define SPW_CLAIMS_OFF	((sizeof(struct spw_claims_shared) + 4095) & \
			 ~(size_t)4095)
#define SPW_CLAIMS_SIZE	(SPW_CLAIMS_OFF + sizeof(struct spw_claim) * \
			 SPW_CLAIM_MOST * SPW_CLAIM_STRIPES)

struct spw_claims {			/* this process's mapping */
	struct spw_claims_shared *at;
	uint64_t ino;
	char dir[SPW_SEG_PATH_MAX];	/* with the slash */
	char path[SPW_SEG_PATH_MAX];
};

struct spw_claim_self {			/* a job in the table */
	uint32_t job, gen;
};

/* Whether any job is in it. */
bool spw_claimtable_used(const struct spw_claims *c);

/* The last one to leave takes the table along. Who has no descriptor for it
 * leaves it behind. */
void spw_claimtable_remove_unused(struct spw_claims *c);

/* The job of map as it was entered: if the segment was deleted by hand, another
 * job may have its entry by now. */
struct spw_claim_self spw_claimjob_self(const struct spw_map *map);

/* Makes all that the job had claimed void, if it is that job still. */
void spw_claimjob_end(struct spw_claims *c, const struct spw_claim_self *self);

/* The table that the job is in, or NULL; found again by one of its processes
 * that has not made claims itself: the drainer, the command. */
struct spw_claims *spw_claimjob_table(struct spw_map *map);

#endif
