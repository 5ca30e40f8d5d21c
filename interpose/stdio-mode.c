/* SPDX-License-Identifier: BSD-3-Clause */
/* stdio-mode.c -- the mode string of fopen, read as libc reads it */
#include "interpose/stdio-mode.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* The first letter. 0, or -EINVAL. */
static int
begin(char letter, struct spw_stdio_mode *m)
{
	*m = (struct spw_stdio_mode){ .plain = { letter } };
	switch (letter) {
	case 'r':
		m->oflags = O_RDONLY;
		return 0;
	case 'w':
		m->oflags = O_WRONLY | O_CREAT | O_TRUNC;
		return 0;
	case 'a':
		m->oflags = O_WRONLY | O_CREAT | O_APPEND;
		return 0;
	}
	return -EINVAL;
}

static void
end(bool both, bool maps, struct spw_stdio_mode *m)
{
	char *at = m->plain + 1;

	if (both)
		m->oflags = (m->oflags & ~O_ACCMODE) | O_RDWR;
	m->append_only = m->plain[0] == 'a' && !both;
	if (both)
		*at++ = '+';
	if (maps)
		*at++ = 'm';
	*at = '\0';
}

int
spw_stdio_mode_parse(const char *mode, struct spw_stdio_mode *m)
{
	const char *last = mode;
	bool both = false, maps = false;

	if (begin(*mode, m) < 0)
		return -EINVAL;
	for (int i = 1; i < 7 && mode[i]; i++) {
		if (strchr("+xb", mode[i]))
			last = mode + i;
		both |= mode[i] == '+';
		maps |= mode[i] == 'm';
		if (mode[i] == 'x')
			m->oflags |= O_EXCL;
		if (mode[i] == 'c')
			m->flags2 |= SPW_FLAGS2_NOTCANCEL;
		if (mode[i] == 'e') {
			m->oflags |= O_CLOEXEC;
			m->flags2 |= SPW_FLAGS2_CLOEXEC;
		}
	}
	m->converts = strstr(last + 1, ",ccs=") != NULL;
	end(both, maps, m);
	return 0;
}

int
spw_stdio_mode_parse_fd(const char *mode, struct spw_stdio_mode *m)
{
	bool both = false, maps = false;

	if (begin(*mode, m) < 0)
		return -EINVAL;
	for (int i = 1; i < 5 && mode[i] && !both; i++) {
		both = mode[i] == '+';
		maps |= mode[i] == 'm';
	}
	end(both, maps, m);
	return 0;
}
