/* SPDX-License-Identifier: BSD-3-Clause */
/* allowed.h -- does a filter leave us the system calls we cannot do without? */
#ifndef SPW_SHM_ALLOWED_H
#define SPW_SHM_ALLOWED_H

/*
 * 0, or a negative errno with the name of a call that is forbidden to this
 * process, and so to all that it starts. Costs next to nothing where no filter
 * (seccomp) is in place. What follows must not be begun: bytes could be taken
 * that nobody can bring home.
 */
int spw_allowed(const char **ret_call);

#endif
