/* SPDX-License-Identifier: BSD-3-Clause */
/* dead-writer.c -- leaves bytes to others, and what others do first with them */

/*
 *	dead-writer write FILE...	writes 50000 bytes to each, and is killed
 *	dead-writer cut FILE...		cuts each to 100 by its name
 *	dead-writer open FILE...	opens each with O_TRUNC, writes 3 bytes
 */
#include <signal.h>

#include "tests/forms.h"

static void
write_much(const char *path)
{
	static char data[50000];
	int fd = open(path, O_RDWR | O_CREAT, 0644);

	memset(data, 'd', sizeof(data));
	NEED(write(fd, data, sizeof(data)) == sizeof(data));
}

static void
open_cutting(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	NEED(write(fd, "new", 3) == 3 && close(fd) == 0);
}

int
main(int argc, char **argv)
{
	NEED(argc > 2);
	for (int i = 2; i < argc; i++)
		if (!strcmp(argv[1], "write"))
			write_much(argv[i]);
		else if (!strcmp(argv[1], "cut"))
			NEED(truncate(argv[i], 100) == 0);
		else
			open_cutting(argv[i]);
	if (!strcmp(argv[1], "write"))
		raise(SIGKILL);
	return 0;
}
