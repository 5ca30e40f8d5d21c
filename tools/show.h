/* SPDX-License-Identifier: BSD-3-Clause */
/* show.h -- names, sizes, errors and progress, fit for people's eyes */
#ifndef SPW_TOOLS_SHOW_H
#define SPW_TOOLS_SHOW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SPW_SHOW_MAX 32

/* A text from outside, made safe: controls and bytes that are no UTF-8
 * appear as \xNN. */
void spw_show_name(FILE *out, const char *s);

/* 8.0 GiB; the buffer is returned. */
const char *spw_show_size(uint64_t bytes, char buf[SPW_SHOW_MAX]);

/* "12 files", "1 file" */
const char *spw_show_count(uint64_t n, const char *what,
			   char buf[SPW_SHOW_MAX]);

/* Seconds since some moment, with their fraction. */
double spw_show_clock(void);

/*
 * How far a drain is. Says nothing in the first second; then a line that is
 * rewritten ten times a second on a terminal, or a new one every ten seconds
 * elsewhere.
 */
struct spw_progress {
	const char *what;		/* e.g. "drain JOB" */
	uint64_t total;			/* the most that was ever left */
	double began, shown;		/* spw_show_clock */
	bool tty, quiet, on_screen;
	uint32_t stopped;		/* a process that is waited for, or 0 */
};

void spw_progress_begin(struct spw_progress *p, const char *what, bool quiet);
void spw_progress_show(struct spw_progress *p, uint64_t left);
/* The same for work that is not counted in bytes. */
void spw_progress_share(struct spw_progress *p, double share,
			const char *doing);
void spw_progress_end(struct spw_progress *p);	/* clears the line */

#endif
