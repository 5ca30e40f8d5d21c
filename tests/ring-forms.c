/* SPDX-License-Identifier: BSD-3-Clause */
/* ring-forms.c -- writes a file, sets a ring up, and says what it would see
 *
 * usage: ring-forms WAY [LIBRARY] */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/ring-ways.h"

/* The library's own, if one is named: nobody else sees what it exports. */
static int
set_up(const char *how, const char *library)
{
	void *object = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	int (*its)(const char *how);

	if (!object)
		return -1;
	its = (int (*)(const char *))dlsym(object, "ring_set_up");
	return its ? its(how) : -1;
}

int
main(int argc, char **argv)
{
	char text[1000];
	int fd = open("data", O_CREAT | O_TRUNC | O_RDWR, 0666);

	if (argc < 2 || fd < 0)
		return 2;
	memset(text, 'r', sizeof(text));
	if (write(fd, text, sizeof(text)) != sizeof(text))
		return 1;
	printf("%d bytes\n", argc > 2 ? set_up(argv[1], argv[2])
				      : ring_set_up(argv[1]));
	return 0;
}
