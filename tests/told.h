/* SPDX-License-Identifier: BSD-3-Clause */
/* told.h -- a call, its result and its errno, one line each, for comparison */
#ifndef SPW_TESTS_TOLD_H
#define SPW_TESTS_TOLD_H

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sigjmp_buf told_back;
static const char *told_of = "";	/* what the call is made on */

static void
told_fault(int sig)
{
	siglongjmp(told_back, sig);
}

/* A call that crashes is told as such, and the next one is made. */
static inline void
told_begin(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGSEGV, told_fault);
	signal(SIGBUS, told_fault);
}

static inline void
told(const char *call, long r, int err)
{
	if (r == -1)
		printf("%s: %s = %s\n", told_of, call, strerrorname_np(err));
	else
		printf("%s: %s = %ld%s\n", told_of, call, r,
		       err ? ", errno changed" : "");
}

/* Makes the call and tells; errno must stay as it is on success. */
#define TELL(call) \
	do { \
		int sig_ = sigsetjmp(told_back, 1); \
		if (sig_) { \
			printf("%s: %s: %s\n", told_of, #call, \
			       strsignal(sig_)); \
		} else { \
			long r_; \
			errno = 0; \
			r_ = (long)(call); \
			told(#call, r_, errno); \
		} \
	} while (0)

static inline void
told_die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

#endif
