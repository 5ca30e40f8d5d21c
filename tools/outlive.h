/* SPDX-License-Identifier: BSD-3-Clause */
/* outlive.h -- a command that ends although a place it used does not answer */
#ifndef SPW_TOOLS_OUTLIVE_H
#define SPW_TOOLS_OUTLIVE_H

/* Calls it and returns its status. Threads of it that wait for a file system
 * that stalls, and cannot be killed for that, do not keep us. */
int spw_outlive(int (*call)(int argc, char **argv, char **envp), int argc,
		char **argv, char **envp);

#endif
