/* SPDX-License-Identifier: BSD-3-Clause */
/* stub.h -- what stands at a file's own path while its bytes are kept below */
#ifndef SPW_PLANNER_STUB_H
#define SPW_PLANNER_STUB_H

#include <stdbool.h>
#include <stdint.h>

#include "planner/find.h"

/*
 * A stub is the file itself, same inode, size and time, with three changes:
 *
 *	user.spillway.kept	an extended attribute that tells the share and
 *				the tiers that hold the bytes, and the mode
 *				that the file had
 *	mode 0000		so that nobody but root reads it by mistake
 *	a notice		in place of its first bytes, for root: what
 *				expects a certain format finds none; all after
 *				the first 4 KiB is a hole
 *
 * The attribute alone decides: a file that has it, and is the inode named in
 * it, is a stub, whatever was finished of the rest. Its state is
 *
 *	kept	the bytes are in the tiers, and the file holds none of them
 *	coming	the bytes are in the tiers, some of them home
 *	home	the bytes are home: what is still in the tiers may go
 *
 * Each is durable before what it stands for is begun: the objects before
 * `kept', `kept' before the notice, `coming' before the notice goes, the bytes
 * at home before `home', `home' before the first object goes. The attribute
 * goes last. So at every moment it says where the bytes are.
 */
#define SPW_STUB_MAX	3072		/* bytes of the attribute */

enum spw_stub_state { SPW_STUB_KEPT, SPW_STUB_COMING, SPW_STUB_HOME };

struct spw_stub {
	char share[256];		/* see spw_store_share */
	char host[65];			/* where it was kept */
	char tiers[SPW_STUB_MAX];	/* as in SPILLWAY_TIERS, expanded */
	uint64_t ino, size;
	int64_t btime, mtime;		/* ns; btime 0: not known */
	uint32_t mode;			/* that the file had */
	uint32_t objects;		/* that hold its bytes */
	enum spw_stub_state state;
};

/* Reads the attribute of an open file that may have mode 0000. -ENODATA: it is
 * no stub; -EINVAL: not understood; -ESTALE: a copy of one. */
int spw_stub_read(int fd, struct spw_stub *ret);

/* Opens a file for reading and writing, or writing alone, and reads its
 * attribute; a descriptor, or as spw_stub_read. */
int spw_stub_open(const char *path, struct spw_stub *ret);

/* Makes the file a stub: the attribute, durably, then the rest, durably. The
 * caller owns the file, and no byte of it is home. */
int spw_stub_make(int fd, const struct spw_stub *s);

/* Finishes one whose making was cut short, or that was on its way home. */
int spw_stub_remake(int fd, struct spw_stub *s);

/* Notes the state in the attribute, durably. */
int spw_stub_note(int fd, struct spw_stub *s, enum spw_stub_state state);

/* The plain file again: mode and time as they were. */
int spw_stub_end(int fd, const struct spw_stub *s);

/* Whether somebody has written to it since it was kept. */
bool spw_stub_is_changed(int fd, const struct spw_stub *s);

#endif
