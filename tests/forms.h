/* SPDX-License-Identifier: BSD-3-Clause */
/* forms.h -- what programs share that run one of their cases, by name */

#ifndef SPW_TESTS_FORMS_H
#define SPW_TESTS_FORMS_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NEED(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, \
				__LINE__, #cond, strerror(errno)); \
			_exit(99); \
		} \
	} while (0)

static inline int
make_as(const char *name, int flags, mode_t mode)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | flags, mode);

	NEED(fd > 2);
	return fd;
}

static inline int
make(const char *name, int flags)
{
	return make_as(name, flags, 0644);
}

static inline void
put(int fd, const char *text)
{
	NEED(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

static inline void
show(int fd)
{
	char text[4096];
	ssize_t n = pread(fd, text, sizeof(text), 0);

	NEED(n >= 0);
	printf("at %ld:\n%.*s", (long)lseek(fd, 0, SEEK_CUR), (int)n, text);
}

struct form {
	const char *name;
	void (*run)(void);
};

/* Runs the one that argv[1] names; the end of the table has no name. */
static inline int
run_form(int argc, char **argv, const struct form *form)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	for (; argc == 2 && form->name; form++)
		if (strcmp(argv[1], form->name) == 0) {
			form->run();
			return 0;
		}
	fprintf(stderr, "usage: %s CASE\n", argv[0]);
	return 2;
}

#endif
