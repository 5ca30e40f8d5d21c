/* SPDX-License-Identifier: BSD-3-Clause */
/* child.h -- the program of a run: started, waited for, told of signals */
#ifndef SPW_TOOLS_CHILD_H
#define SPW_TOOLS_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tools/limits.h"

struct spw_child {
	pid_t pid;
	int status;			/* as the shell counts it, when ended */
	bool ended;
	int64_t told;			/* ms: when SIGTERM came first; 0: not */
	sigset_t waited, before;	/* signals we take, and the old mask */
	bool ignores_chld;		/* as we found SIGCHLD */
	struct spw_limits limits;	/* as we found them */
	int report[2];			/* a pipe: why it could not be started */
};

/* From here on signals wait for spw_child_step, and we may open as many files,
 * and write files as large, as the system allows. Before any thread.
 * What starting a program takes is had, or a negative errno. */
int spw_child_prepare(struct spw_child *c);

/* 0, or the negative errno of exec. Once. */
int spw_child_start(struct spw_child *c, const char *path, char **argv,
		    char **envp);

/*
 * Waits up to us microseconds for the program or for a signal and deals with
 * it: signals that somebody sent to us alone go on to the program, those of
 * the terminal reach it by themselves; when the program is stopped from the
 * terminal, so are we. Returns the signal that came after the program had
 * ended, or 0.
 */
int spw_child_step(struct spw_child *c, int64_t us);

/* Whether the program has our library; -1: it is being loaded, or it cannot be
 * told. */
int spw_child_has_library(const struct spw_child *c);

/* In a forked process: signals and limits as they were when we began. */
void spw_child_restore(const struct spw_child *c);

#endif
