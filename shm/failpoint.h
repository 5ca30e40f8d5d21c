/* SPDX-License-Identifier: BSD-3-Clause */
/* failpoint.h -- named places where a test build dies or stops on request */
#ifndef SPW_SHM_FAILPOINT_H
#define SPW_SHM_FAILPOINT_H

/*
 * SPILLWAY_FAILPOINT=name:N kills the process with SIGKILL when it passes
 * the point for the Nth time; name:N:stop stops it there. Only in builds with
 * --enable-failpoints; in all others the points are gone. `grep -rho
 * 'SPW_FAILPOINT("[^"]*"'` lists the names, and the crash tests do just that.
 */
#ifdef SPW_FAILPOINTS
void spw_failpoint(const char *name);

/* In place of the variable, which is read once: "name:N", or "" for none. */
void spw_failpoint_set(const char *want);

#define SPW_FAILPOINT(name) spw_failpoint(name)
#else
#define SPW_FAILPOINT(name) ((void)0)
#endif

#endif
