/* SPDX-License-Identifier: BSD-3-Clause */
/* trial-made.h -- what a test can ask of trials whose times are made up */

#ifndef SPW_TESTS_TRIAL_MADE_H
#define SPW_TESTS_TRIAL_MADE_H

#include "planner/trial.h"

#define MADE_SLOWER 3			/* times as long as it should take */

/* Trials so far, and the one of them that is held up by something else. */
extern unsigned made_trials, made_slow;

/* How many times as long as usual codecs take here, and the seconds until caches
 * know one again, for which something else ran since.
 */
extern struct made_machine { double pace, cold; } made_machine;

/* Something else ran. */
void made_cool(void);

/* Seconds to pack n bytes, at most SPW_TRIAL_MAX. */
double made_time(const struct spw_object_pack *pack, double n, double stored);

#endif
