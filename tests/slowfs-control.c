/* SPDX-License-Identifier: BSD-3-Clause */
/* slowfs-control.c -- the file at the root of a slow mount that sets its knobs
 */

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tests/slowfs-record.h"
#include "tests/slowfs.h"

static const struct node control = { .fd = -1 };

bool
control_is(fuse_ino_t ino)
{
	return ino == (uintptr_t)&control;
}

bool
control_is_name(fuse_ino_t parent, const char *name)
{
	return parent == FUSE_ROOT_ID && !strcmp(name, CONTROL_NAME);
}

static struct stat
attributes(void)
{
	return (struct stat){ .st_mode = S_IFREG | 0600, .st_nlink = 1,
			      .st_uid = getuid(), .st_gid = getgid() };
}

void
control_lookup(fuse_req_t req)
{
	struct fuse_entry_param e = { .ino = (uintptr_t)&control,
				      .attr = attributes() };

	fuse_reply_entry(req, &e);
}

void
control_getattr(fuse_req_t req)
{
	struct stat st = attributes();

	fuse_reply_attr(req, &st, 0);
}

/* Past the page cache: its size is never known before it is read. */
void
control_open(fuse_req_t req, struct fuse_file_info *fi)
{
	if (fi->flags & O_TRUNC)
		faults_reset();
	fi->direct_io = 1;
	fuse_reply_open(req, fi);
}

void
control_read(fuse_req_t req, size_t size, off_t off)
{
	char text[4096];
	size_t n;

	n = faults_show(text, sizeof(text));
	if ((size_t)off >= n)
		size = 0;
	else if (size > n - (size_t)off)
		size = n - (size_t)off;
	fuse_reply_buf(req, size ? text + off : text, size);
}

int
control_set(const char *text, size_t n)
{
	if (n < 5 || memcmp(text, "mark=", 5))
		return faults_set(text, n);
	if (text[n - 1] == '\n')
		n--;
	return record_mark(text + 5, n - 5);
}

void
control_write(fuse_req_t req, const char *buf, size_t size)
{
	int r = control_set(buf, size);

	if (r < 0)
		fuse_reply_err(req, -r);
	else
		fuse_reply_write(req, size);
}
