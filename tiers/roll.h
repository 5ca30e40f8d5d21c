/* SPDX-License-Identifier: BSD-3-Clause */
/* roll.h -- which files a share has: what somebody took away is missed */

#ifndef SPW_TIERS_ROLL_H
#define SPW_TIERS_ROLL_H

#include "tiers/share.h"

/*
 *	<share>/<kind>.roll	a record for each file, by a place of the tier
 *
 *	expected	the file is made; the disk may not have it yet
 *	there		written when its name is durable
 *	left		nobody needs it, but the name is still there; for this
 *			boot, as drops may be undone by a loss of power
 *	struck		durably, before the name goes
 *
 * So whenever power goes, a file that is there by the roll, and is not, was
 * removed by somebody else; and one that is not in the roll is none the worse
 * for it. Shares of older releases have no roll, and nothing is missed there.
 *
 * A roll that cannot be written is given up, and removed. Where the file system
 * has no locks there may be two who write, and there is none. All but
 * spw_roll_open takes NULL for none.
 */
enum { SPW_ROLL_RECORD = 32 };		/* bytes */

struct spw_roll;

/* How the file at a place is called. */
typedef void (*spw_roll_namer)(uint64_t place, char ret_name[32]);

/* What is damaged in it is told by list; fails with -ENOMEM and where it
 * cannot be read for now. */
int spw_roll_open(const struct spw_share *s, const char *kind,
		  spw_roll_namer name, struct spw_roll **ret_roll);
void spw_roll_close(struct spw_roll *r);
bool spw_roll_is(const char *kind, const char *name);

bool spw_roll_has(const struct spw_roll *r, uint64_t place);
void spw_roll_expect(struct spw_roll *r, uint64_t place);

/* Notes a number that tells what is at a place which is expected; and whether
 * that is still there, as far as is known. */
void spw_roll_bind(struct spw_roll *r, uint64_t place, uint32_t bind);
bool spw_roll_is_bound(const struct spw_roll *r, uint64_t place,
		       uint32_t bind);
/* Where that ought to be. False: nowhere. */
bool spw_roll_place_of(const struct spw_roll *r, uint32_t bind,
		       uint64_t *ret_place);

/* All names that were expected are durable. Survives us from now on; a loss of
 * power after a sync of the roll. */
void spw_roll_confirm(struct spw_roll *r);

/* Nobody needs it. True: its name stays until the roll was synced. */
bool spw_roll_leave(struct spw_roll *r, uint64_t place);
bool spw_roll_is_left(const struct spw_roll *r, uint64_t place);
unsigned spw_roll_left(const struct spw_roll *r);

/* After a sync: calls gone for each that is left, and strikes it. */
void spw_roll_part(struct spw_roll *r, void (*gone)(void *arg, uint64_t place),
		   void *arg);

/* It is not there any more. False: nobody would miss it. What is damaged in the
 * roll itself has the place that list told. */
bool spw_roll_strike(struct spw_roll *r, uint64_t place);

/* Waits for the disk, if there is anything. */
void spw_roll_sync(struct spw_roll *r);
bool spw_roll_is_due(const struct spw_roll *r);	/* it was long ago */

/* Calls seen for what is missing, as list of a tier. */
int spw_roll_list(const struct spw_roll *r,
		  int (*seen)(void *arg, const struct spw_tier_found *f),
		  void *arg);

#endif
