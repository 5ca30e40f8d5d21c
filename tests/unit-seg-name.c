/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-seg-name.c -- a segment of the same name and number, on another file
 * system, is not taken for the one that is mapped */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

#include "shm/seg.h"
#include "tests/counted.h"

static bool
write_to(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	return f && fputs(text, f) >= 0 && fclose(f) == 0;
}

/* Mounts that nobody else sees; without being root, as root of a namespace. */
static bool
set_apart(void)
{
	char user[64], group[64];

	snprintf(user, sizeof(user), "%u %u 1", geteuid(), geteuid());
	snprintf(group, sizeof(group), "%u %u 1", getegid(), getegid());
	if (unshare(CLONE_NEWNS) < 0 &&
	    (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
	     !write_to("/proc/self/uid_map", user) ||
	     !write_to("/proc/self/setgroups", "deny") ||
	     !write_to("/proc/self/gid_map", group)))
		return false;
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

int
main(void)
{
	struct spw_seg_request req = { .job = "lane", .bytes = 4 << 20 };
	char place[] = "unit-seg-name.XXXXXX";
	struct spw_map first, second;
	int fd;

	req.dir = mkdtemp(place);
	if (!req.dir || !set_apart() ||
	    mount("first", place, "tmpfs", 0, NULL) < 0) {
		rmdir(place);
		puts("CANNOT: nothing can be mounted here");
		return 77;
	}
	CHECK(spw_seg_create(&req, &first) == 0);
	fd = spw_seg_lock_byte(&first, SPW_LOCK_BYTE_GROW);
	CHECK(fd >= 0);
	spw_seg_unlock_byte(fd, SPW_LOCK_BYTE_GROW);
	CHECK(mount("second", place, "tmpfs", 0, NULL) == 0);
	CHECK(spw_seg_create(&req, &second) == 0);
	CHECK(second.ino == first.ino);	/* else this tells nothing */
	CHECK(spw_seg_lock_byte(&first, SPW_LOCK_BYTE_GROW) == -ESTALE);
	fd = spw_seg_lock_byte(&second, SPW_LOCK_BYTE_GROW);
	CHECK(fd >= 0);
	spw_seg_unlock_byte(fd, SPW_LOCK_BYTE_GROW);
	CHECK(umount2(place, MNT_DETACH) == 0);
	CHECK(umount2(place, MNT_DETACH) == 0);
	CHECK(rmdir(place) == 0);
	return failures != 0;
}
