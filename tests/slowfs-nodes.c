/* SPDX-License-Identifier: BSD-3-Clause */
/* slowfs-nodes.c -- the inodes that the kernel knows of a slow mount */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tests/slowfs-record.h"
#include "tests/slowfs.h"

#define NBUCKETS 1024

static struct node root = { .fd = -1 };
static struct node *buckets[NBUCKETS];
static pthread_mutex_t nodes_lock = PTHREAD_MUTEX_INITIALIZER;

static struct node *
node_of(fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? &root : (struct node *)(uintptr_t)ino;
}

void
nodes_start(int fd)
{
	root.fd = fd;
}

int
fd_of(fuse_ino_t ino)
{
	return control_is(ino) ? -1 : node_of(ino)->fd;
}

struct procname
procname(int fd)
{
	struct procname p;

	snprintf(p.s, sizeof(p.s), "/proc/self/fd/%d", fd);
	return p;
}

static struct node **
bucket_of(ino_t ino)
{
	return &buckets[ino % NBUCKETS];
}

/* Takes fd.  Returns the node for what it refers to, held once more. */
static struct node *
hold_node(int fd, const struct stat *st)
{
	struct node *n;

	pthread_mutex_lock(&nodes_lock);
	for (n = *bucket_of(st->st_ino); n; n = n->next)
		if (n->ino == st->st_ino && n->dev == st->st_dev)
			break;
	if (n) {
		close(fd);
	} else {
		n = calloc(1, sizeof(*n));
		if (!n)
			abort();
		n->fd = fd;
		n->ino = st->st_ino;
		n->dev = st->st_dev;
		n->next = *bucket_of(st->st_ino);
		*bucket_of(st->st_ino) = n;
	}
	n->lookups++;
	pthread_mutex_unlock(&nodes_lock);
	return n;
}

void
nodes_drop(fuse_ino_t ino, uint64_t count)
{
	struct node *n = node_of(ino);
	struct node **p;

	if (n == &root || control_is(ino))
		return;
	pthread_mutex_lock(&nodes_lock);
	n->lookups -= count;
	if (!n->lookups) {
		for (p = bucket_of(n->ino); *p != n; p = &(*p)->next)
			;
		*p = n->next;
		close(n->fd);
		free(n);
	}
	pthread_mutex_unlock(&nodes_lock);
}

/* Names are asked for every time: one may vanish at any moment. */
int
nodes_find(fuse_ino_t parent, const char *name, struct fuse_entry_param *ret_e)
{
	struct fuse_entry_param e = { .attr_timeout = 1, .entry_timeout = 0 };
	int fd;

	fd = openat(fd_of(parent), name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstatat(fd, "", &e.attr, AT_EMPTY_PATH) < 0) {
		close(fd);
		return -EIO;
	}
	e.ino = (uintptr_t)hold_node(fd, &e.attr);
	record_hide_kept(&e.attr);
	*ret_e = e;
	return 0;
}

/* The kernel knows where a descriptor's inode is now. */
static size_t
backing_path(int fd, char *buf, size_t size)
{
	static const char gone[] = " (deleted)";
	struct procname p = procname(fd);
	size_t n, m = sizeof(gone) - 1;
	ssize_t r;

	r = readlink(p.s, buf, size - 1);
	n = r < 0 ? 0 : (size_t)r;
	if (n > m && !memcmp(buf + n - m, gone, m))
		n -= m;
	buf[n] = 0;
	return n;
}

void
nodes_path(fuse_ino_t ino, const char *name, char *buf, size_t size)
{
	char top[PATH_MAX], path[PATH_MAX];
	size_t n;

	n = backing_path(root.fd, top, sizeof(top));
	if (backing_path(fd_of(ino), path, sizeof(path)) < n)
		path[n] = 0;
	while (path[n] == '/')
		n++;
	if (!name)
		snprintf(buf, size, "%s", path + n);
	else
		snprintf(buf, size, "%s%s%s", path + n, path[n] ? "/" : "",
			 name);
}

int
gate(enum request_kind kind, fuse_ino_t ino, const char *name)
{
	char path[PATH_MAX];

	if (!faults_need_path())
		return 0;
	nodes_path(ino, name, path, sizeof(path));
	return faults_admit(kind, path);
}

void
reply_result(fuse_req_t req, int r)
{
	fuse_reply_err(req, r < 0 ? errno : 0);
}

void
op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param e;
	int r;

	if (control_is_name(parent, name)) {
		control_lookup(req);
		return;
	}
	r = gate(REQUEST_FIND, parent, name);
	if (r == 0)
		r = nodes_find(parent, name, &e);
	else if (r == -ESTALE)
		r = -ENOENT;
	if (r < 0)
		fuse_reply_err(req, -r);
	else if (fuse_reply_entry(req, &e) < 0)
		nodes_drop(e.ino, 1);
}

void
op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
	nodes_drop(ino, count);
	fuse_reply_none(req);
}

void
op_forget_multi(fuse_req_t req, size_t n, struct fuse_forget_data *f)
{
	size_t i;

	for (i = 0; i < n; i++)
		nodes_drop(f[i].ino, f[i].nlookup);
	fuse_reply_none(req);
}

void
op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st;
	int r;

	(void)fi;
	if (control_is(ino)) {
		control_getattr(req);
		return;
	}
	r = gate(REQUEST_FIND, ino, NULL);
	if (r == 0 && fstatat(fd_of(ino), "", &st, AT_EMPTY_PATH) < 0)
		r = -errno;
	if (r < 0) {
		fuse_reply_err(req, -r);
		return;
	}
	record_hide_kept(&st);
	fuse_reply_attr(req, &st, 1);
}

void
op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st;
	int r = faults_admit(REQUEST_STATFS, "/");

	(void)ino;
	if (r < 0)
		fuse_reply_err(req, -r);
	else if (fstatvfs(root.fd, &st) < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_statfs(req, &st);
}
