/* SPDX-License-Identifier: BSD-3-Clause */
/* signals.h -- handlers wait while a thread holds locks of the segment */
#ifndef SPW_INTERPOSE_SIGNALS_H
#define SPW_INTERPOSE_SIGNALS_H

/* Sends the thread the signals that came while it was busy. */
void spw_signals_deliver(void);

/* In a forked child: what the parent's thread was owed is not ours. */
void spw_signals_forked(void);

#endif
