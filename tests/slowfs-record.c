/* SPDX-License-Identifier: BSD-3-Clause */
/* slowfs-record.c -- writes down what slowfs does, in order */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/record.h"
#include "tests/slowfs-record.h"
#include "tests/slowfs-tree.h"

#define NBUCKETS 4096

/* The number of an inode of the backing tree.  An inode that is used again
 * gets a new number when it is made. */
struct number {
	struct number *next;
	dev_t dev;
	ino_t ino;
	uint64_t node;
};

static struct number *buckets[NBUCKETS];
static uint64_t last_node;
static int record_fd = -1;
static int kept_dir = -1;		/* where inodes stay */
static pthread_mutex_t record_lock = PTHREAD_MUTEX_INITIALIZER;

bool
record_is_on(void)
{
	return record_fd >= 0;
}

void
record_begin(void)
{
	if (record_is_on())
		pthread_mutex_lock(&record_lock);
}

void
record_end(void)
{
	if (record_is_on())
		pthread_mutex_unlock(&record_lock);
}

/* A recording with a gap is worth nothing: nobody must go on with it. */
static void
give_up(const char *what)
{
	fprintf(stderr, "slowfs: recording: %s: %s\n", what, strerror(errno));
	abort();
}

static struct number *
known_number(const struct stat *st)
{
	struct number *n;

	for (n = buckets[st->st_ino % NBUCKETS]; n; n = n->next)
		if (n->ino == st->st_ino && n->dev == st->st_dev)
			break;
	return n;
}

static struct number *
number_of(const struct stat *st)
{
	struct number **bucket = &buckets[st->st_ino % NBUCKETS], *n;

	n = known_number(st);
	if (n)
		return n;
	n = calloc(1, sizeof(*n));
	if (!n)
		give_up("memory");
	n->ino = st->st_ino;
	n->dev = st->st_dev;
	n->node = ++last_node;
	n->next = *bucket;
	*bucket = n;
	return n;
}

static struct stat
stat_of(int fd, const char *name)
{
	struct stat st;

	if (fstatat(fd, name, &st, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0)
		give_up("stat");
	return st;
}

static uint64_t
node_of(int fd)
{
	struct stat st = stat_of(fd, "");

	return number_of(&st)->node;
}

/* What is known of an inode after something was done to it. */
static struct record
about(enum record_kind kind, const struct stat *st)
{
	return (struct record){
		.kind = kind,
		.node = number_of(st)->node,
		.sec = st->st_mtim.tv_sec,
		.nsec = (uint32_t)st->st_mtim.tv_nsec,
		.mode = st->st_mode,
	};
}

static void
put(struct record *r, const char *name, const char *name2, const void *data)
{
	static const char zeros[8];
	struct iovec iov[5] = {
		{ r, sizeof(*r) },
		{ (char *)name, name ? strlen(name) : 0 },
		{ (char *)name2, name2 ? strlen(name2) : 0 },
		{ (void *)data, r->data_len },
		{ (char *)zeros, 0 },
	};
	size_t n;

	r->name_len = (uint16_t)iov[1].iov_len;
	r->name2_len = (uint16_t)iov[2].iov_len;
	n = sizeof(*r) + r->name_len + r->name2_len + r->data_len;
	iov[4].iov_len = -n % 8;
	r->size = (uint32_t)(n + iov[4].iov_len);
	errno = ENOSPC;
	if (writev(record_fd, iov, 5) != (ssize_t)r->size)
		give_up("write");
}

uint64_t
record_look(int dir, const char *name)
{
	const struct number *n;
	struct stat st;

	if (!record_is_on() ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	n = known_number(&st);
	return n ? n->node : 0;
}

void
record_removed(int dir, const char *name, uint64_t node)
{
	struct record r = { .kind = RECORD_REMOVE, .node = node };

	if (!record_is_on())
		return;
	r.dir = node_of(dir);
	put(&r, name, NULL, NULL);
}

void
record_renamed(int dir, const char *name, uint64_t node, int dir2,
	       const char *name2, uint64_t other, unsigned int flags)
{
	struct record r = { .kind = RECORD_RENAME, .node = node, .off = other,
			    .mode = flags };

	if (!record_is_on())
		return;
	r.dir = node_of(dir);
	r.dir2 = node_of(dir2);
	put(&r, name, name2, NULL);
}

int
record_keep(const char *path)
{
	kept_dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return kept_dir < 0 ? -errno : 0;
}

void
record_hide_kept(struct stat *st)
{
	if (kept_dir >= 0 && S_ISREG(st->st_mode) && st->st_nlink > 0)
		st->st_nlink--;
}

static void
keep(int dir, const char *name, uint64_t node)
{
	char number[24];

	snprintf(number, sizeof(number), "%llu", (unsigned long long)node);
	if (linkat(dir, name, kept_dir, number, 0) < 0)
		give_up("keep");
}

void
record_made(int dir, const char *name, const char *to)
{
	struct number *n;
	struct record r;
	struct stat st;

	if (!record_is_on())
		return;
	st = stat_of(dir, name);
	n = known_number(&st);
	if (n)
		n->node = ++last_node;	/* the inode is used again */
	r = about(RECORD_MAKE, &st);
	r.dir = node_of(dir);
	put(&r, name, to, NULL);
	if (kept_dir >= 0 && S_ISREG(st.st_mode))
		keep(dir, name, r.node);
}

void
record_linked(int dir, const char *name)
{
	struct record r;
	struct stat st;

	if (!record_is_on())
		return;
	st = stat_of(dir, name);
	r = about(RECORD_LINK, &st);
	r.dir = node_of(dir);
	put(&r, name, NULL, NULL);
}

void
record_wrote(int fd, const void *buf, size_t n, off_t off, bool durable)
{
	struct record r;
	struct stat st;

	if (!record_is_on())
		return;
	st = stat_of(fd, "");
	r = about(RECORD_WRITE, &st);
	r.off = (uint64_t)off;
	r.len = r.data_len = (uint32_t)n;
	r.flags = durable ? RECORD_DURABLE : 0;
	put(&r, NULL, NULL, buf);
}

void
record_truncated(int fd, off_t size)
{
	struct record r;
	struct stat st;

	if (!record_is_on())
		return;
	st = stat_of(fd, "");
	r = about(RECORD_TRUNCATE, &st);
	r.len = (uint64_t)size;
	put(&r, NULL, NULL, NULL);
}

void
record_allocated(int fd, int mode, off_t off, off_t len)
{
	struct record r;
	struct stat st;

	if (!record_is_on())
		return;
	st = stat_of(fd, "");
	r = about(RECORD_ALLOCATE, &st);
	r.mode = (uint32_t)mode;
	r.off = (uint64_t)off;
	r.len = (uint64_t)len;
	put(&r, NULL, NULL, NULL);
}

void
record_attributes(int fd)
{
	struct record r;
	struct stat st;

	if (!record_is_on())
		return;
	st = stat_of(fd, "");
	r = about(RECORD_ATTR, &st);
	put(&r, NULL, NULL, NULL);
}

void
record_xattr(int fd, const char *name, const void *value, size_t n, bool gone)
{
	struct record r;
	struct stat st;

	if (!record_is_on())
		return;
	st = stat_of(fd, "");
	r = about(RECORD_XATTR, &st);
	r.flags = gone ? RECORD_GONE : 0;
	r.len = r.data_len = (uint32_t)n;
	put(&r, name, NULL, value);
}

void
record_synced(int fd, bool data_only)
{
	struct record r;
	struct stat st;

	if (!record_is_on())
		return;
	st = stat_of(fd, "");
	r = about(RECORD_SYNC, &st);
	r.flags = data_only ? RECORD_DATA_ONLY : 0;
	put(&r, NULL, NULL, NULL);
}

int
record_mark(const char *text, size_t n)
{
	struct record r = { .kind = RECORD_MARK, .len = n,
			    .data_len = (uint32_t)n };

	if (!record_is_on())
		return -EINVAL;
	record_begin();
	put(&r, NULL, NULL, text);
	record_end();
	return 0;
}

int
record_start(const char *path, int root)
{
	struct record r = { .kind = RECORD_START };
	uint64_t magic = RECORD_MAGIC;
	struct stat st;
	int fd;

	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC,
		  0600);
	if (fd < 0)
		return -errno;
	record_fd = fd;
	if (write(fd, &magic, sizeof(magic)) != sizeof(magic))
		give_up("write");
	st = stat_of(root, "");
	number_of(&st);			/* RECORD_ROOT */
	tree_record(root);
	record_synced(root, false);
	put(&r, NULL, NULL, NULL);
	return 0;
}
