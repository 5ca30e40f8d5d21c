/* SPDX-License-Identifier: BSD-3-Clause */
/* slowfs-xattr.c -- extended attributes of a slow mount */

#include <errno.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/xattr.h>

#include "tests/slowfs-record.h"
#include "tests/slowfs.h"

void
op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
	    const char *value, size_t size, int flags)
{
	struct procname p = procname(fd_of(ino));
	int r;

	if (!strcmp(name, CONTROL_XATTR)) {
		fuse_reply_err(req, -control_set(value, size));
		return;
	}
	r = gate(REQUEST_CHANGE, ino, NULL);
	if (r == 0 && !faults_have_attributes())
		r = -EOPNOTSUPP;
	record_begin();
	if (r == 0 && setxattr(p.s, name, value, size, flags) < 0)
		r = -errno;
	if (r == 0)
		record_xattr(fd_of(ino), name, value, size, false);
	record_end();
	fuse_reply_err(req, -r);
}

void
op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct procname p = procname(fd_of(ino));
	int r;

	r = gate(REQUEST_CHANGE, ino, NULL);
	if (r == 0 && !faults_have_attributes())
		r = -EOPNOTSUPP;
	record_begin();
	if (r == 0 && removexattr(p.s, name) < 0)
		r = -errno;
	if (r == 0)
		record_xattr(fd_of(ino), name, NULL, 0, true);
	record_end();
	fuse_reply_err(req, -r);
}

/* Size 0 asks how much room the value needs. */
static void
reply_xattr(fuse_req_t req, ssize_t n, const char *buf, size_t size)
{
	if (n < 0)
		fuse_reply_err(req, errno);
	else if (!size)
		fuse_reply_xattr(req, (size_t)n);
	else
		fuse_reply_buf(req, buf, (size_t)n);
}

void
op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct procname p = procname(fd_of(ino));
	char buf[XATTR_SIZE_MAX];

	if (!faults_have_attributes()) {
		fuse_reply_err(req, EOPNOTSUPP);
		return;
	}
	if (size > sizeof(buf))
		size = sizeof(buf);
	reply_xattr(req, getxattr(p.s, name, size ? buf : NULL, size), buf,
		    size);
}

void
op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct procname p = procname(fd_of(ino));
	char buf[XATTR_LIST_MAX];

	if (size > sizeof(buf))
		size = sizeof(buf);
	reply_xattr(req, listxattr(p.s, size ? buf : NULL, size), buf, size);
}
