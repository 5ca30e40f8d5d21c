/* SPDX-License-Identifier: BSD-3-Clause */
/* segments.h -- the segments of this user: which there are, who lives there */
#ifndef SPW_TOOLS_SEGMENTS_H
#define SPW_TOOLS_SEGMENTS_H

#include "planner/drain.h"
#include "shm/seg.h"

enum spw_segment_state {
	SPW_SEGMENT_LIVE,		/* programs hold it */
	SPW_SEGMENT_IDLE,		/* a drainer only */
	SPW_SEGMENT_NEW,		/* just made: nobody, nothing in it */
	SPW_SEGMENT_DEAD,		/* nobody, and it was used */
	SPW_SEGMENT_UNREADABLE		/* see err; map is not valid */
};

struct spw_segment_folk {		/* living processes that hold it */
	uint32_t programs;
	uint32_t runs;			/* ready to be the drainer */
};

struct spw_segment {
	struct spw_map map;
	char job[SPW_JOB_MAX + 8];
	char path[SPW_SEG_PATH_MAX];
	enum spw_segment_state state;
	int err;			/* negative errno of attaching */
	bool has_drainer;
	struct spw_segment_folk folk;
	struct spw_drain_left left;
};

/* Looks at the segment at a path. 0 also when it cannot be read (state says
 * so); -ENOENT, or -EPERM when DIR/spillway.UID is not ours. */
int spw_segment_look(const char *path, struct spw_segment *ret_segment);
void spw_segment_drop(struct spw_segment *s);

/* All of them, by name; free with spw_segments_free. No directory: none. */
int spw_segments_list(const char *shm_dir, struct spw_segment **ret_list,
		      size_t *ret_n);
void spw_segments_free(struct spw_segment *list, size_t n);

/* Whether a drainer has the office right now. */
bool spw_segment_has_drainer(const char *path);

void spw_segment_count(const struct spw_map *map,
		       struct spw_segment_folk *ret_folk);

/* Nobody holds it. */
bool spw_segment_is_deserted(const struct spw_map *map);

/* Why it cannot be read, in words. */
const char *spw_segment_trouble(int err);

const char *spw_segment_state_name(enum spw_segment_state state);
const char *spw_segment_host_name(uint32_t host);

/* Deletes the file if everything is home and nobody holds it. The caller is
 * the drainer d, which keeps files in the tiers before that, where that was
 * asked for; NULL: not so. True when it is gone. */
bool spw_segment_remove(struct spw_map *map, struct spw_drainer *d);

#endif
