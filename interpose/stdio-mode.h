/* SPDX-License-Identifier: BSD-3-Clause */
/* stdio-mode.h -- the mode string of fopen, read as libc reads it */
#ifndef SPW_INTERPOSE_STDIO_MODE_H
#define SPW_INTERPOSE_STDIO_MODE_H

#include <stdbool.h>

struct spw_stdio_mode {
	int oflags;			/* for open */
	int flags2;			/* for the stream */
	bool append_only;		/* starts at the end */
	bool converts;			/* ",ccs=": a wide stream */
	char plain[4];			/* the same, shortest: r w a, +, m */
};

/* Bits of _flags2; their values are part of libc's binary interface. */
#define SPW_FLAGS2_NOTCANCEL	2
#define SPW_FLAGS2_CLOEXEC	64

/* For fopen and freopen: six letters count, "+" may be any of them. 0, or
 * -EINVAL. */
int spw_stdio_mode_parse(const char *mode, struct spw_stdio_mode *ret);

/* For fdopen: four letters count, none after "+". */
int spw_stdio_mode_parse_fd(const char *mode, struct spw_stdio_mode *ret);

#endif
