/* SPDX-License-Identifier: BSD-3-Clause */
/* notes.h -- home says itself which objects of a file count no more */
#ifndef SPW_PLANNER_NOTES_H
#define SPW_PLANNER_NOTES_H

#include "planner/drainer.h"

/* Of the file's objects in that share those up to the number returned. */
uint64_t spw_note_read(int fd, const char *share);

/* The file is home up to object seq, or has no name. If objects of it may be
 * left where they cannot be dropped, home is made to say so; if there are none
 * any more, or no home, it need not. */
void spw_notes_tend(struct spw_drainer *d, uint32_t file, uint64_t seq);

/* Whether a tier may have objects of the file that nobody can drop. */
bool spw_notes_are_due(struct spw_drainer *d, uint32_t file);

#endif
