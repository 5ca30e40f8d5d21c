/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h -- what libspillway-engine.so offers to the preloaded library */
#ifndef SPW_PLANNER_ENGINE_H
#define SPW_PLANNER_ENGINE_H

#include <stdint.h>

/* Starts a thread of this process that drains the segment, unless somebody
 * does already. 0, or a negative errno. */
int spw_engine_thread_start(const char *segment_path, void (*tell)(void));

/* Brings home, in the calling thread, what is dirty; for about a second. */
int spw_engine_drain(const char *segment_path);

/* It closes its tiers and ends, which is waited for: so many milliseconds, or,
 * if negative, as long as it takes. */
void spw_engine_thread_stop(int64_t ms);

/* In a forked child: lets go of the descriptors of a thread it has not. */
void spw_engine_thread_forget(void);

#endif
