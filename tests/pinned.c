/* SPDX-License-Identifier: BSD-3-Clause */
/* pinned.c -- fills the segment with a file that may not leave, then writes */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shm/spillway.h"

int
main(void)
{
	static char block[4096];
	int a = open("held", O_RDWR | O_CREAT | O_TRUNC, 0644);
	int b = open("other", O_RDWR | O_CREAT | O_TRUNC, 0644);

	if (a < 0 || b < 0)
		return 1;
	if (spillway_pin && spillway_pin(a, 1) < 0)
		return 1;
	memset(block, 'a', sizeof(block));
	for (int i = 0; i < 1500; i++)
		if (write(a, block, sizeof(block)) != sizeof(block))
			return 1;
	memset(block, 'b', sizeof(block));
	for (int i = 0; i < 300; i++)
		if (write(b, block, 1000) != 1000)
			return 1;
	printf("%ld %ld\n", (long)lseek(a, 0, SEEK_CUR),
	       (long)lseek(b, 0, SEEK_CUR));
	return 0;
}
