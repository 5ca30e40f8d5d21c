/* SPDX-License-Identifier: BSD-3-Clause */
/* ring-forms.c -- writes a file, sets a ring up, and says what it would see */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct io_uring;
struct io_uring_params;

#define WEAK __attribute__((weak))	/* a preloaded library has them */

WEAK int io_uring_queue_init(unsigned entries, struct io_uring *ring,
			     unsigned flags);
WEAK int io_uring_queue_init_mem(unsigned entries, struct io_uring *ring,
				 struct io_uring_params *p, void *buf,
				 size_t n);
WEAK int io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
				    struct io_uring_params *p);
WEAK int io_uring_queue_mmap(int fd, struct io_uring_params *p,
			     struct io_uring *ring);
WEAK int io_uring_setup(unsigned entries, struct io_uring_params *p);

static int
set_up(const char *how)
{
	if (!strcmp(how, "init"))
		return io_uring_queue_init(4, NULL, 0);
	if (!strcmp(how, "mem"))
		return io_uring_queue_init_mem(4, NULL, NULL, NULL, 0);
	if (!strcmp(how, "params"))
		return io_uring_queue_init_params(4, NULL, NULL);
	if (!strcmp(how, "mmap"))
		return io_uring_queue_mmap(3, NULL, NULL);
	return io_uring_setup(4, NULL);
}

int
main(int argc, char **argv)
{
	char text[1000];
	int fd = open("data", O_CREAT | O_TRUNC | O_RDWR, 0666);

	if (argc != 2 || fd < 0)
		return 2;
	memset(text, 'r', sizeof(text));
	if (write(fd, text, sizeof(text)) != sizeof(text))
		return 1;
	printf("%d bytes\n", set_up(argv[1]));
	return 0;
}
