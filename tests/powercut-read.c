/* SPDX-License-Identifier: BSD-3-Clause */
/* powercut-read.c -- a recording as an array of what was done */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/powercut.h"

void
die(const char *what)
{
	fprintf(stderr, "powercut: %s: %s\n", what, strerror(errno));
	exit(1);
}

void *
need(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		die("memory");
	return p;
}

static const char *
map(const char *path, size_t *ret_size)
{
	struct stat st;
	char *base;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		die(path);
	base = mmap(NULL, (size_t)st.st_size + 1, PROT_READ, MAP_PRIVATE, fd,
		    0);
	if (base == MAP_FAILED)
		die(path);
	close(fd);
	errno = EINVAL;
	if ((size_t)st.st_size < sizeof(uint64_t) ||
	    *(const uint64_t *)base != RECORD_MAGIC)
		die(path);
	*ret_size = (size_t)st.st_size;
	return base;
}

/* The record at an offset, or NULL where the file ends, even if in the middle
 * of one: slowfs may have been killed. */
static const struct record *
record_at(const char *base, size_t size, size_t off)
{
	const struct record *r = (const struct record *)(base + off);

	if (size - off < sizeof(*r) || r->size < sizeof(*r) ||
	    r->size > size - off || r->size % 8 ||
	    (size_t)r->name_len + r->name2_len + r->data_len >
	    r->size - sizeof(*r))
		return NULL;
	return r;
}

static struct op
op_of(const struct record *r)
{
	struct op op = { .r = r, .name = (const char *)(r + 1), .next = NONE };

	op.name2 = op.name + r->name_len;
	op.data = op.name2 + r->name2_len;
	return op;
}

static void
count_node(struct recording *rec, uint64_t node)
{
	if (node >= rec->nnodes)
		rec->nnodes = node + 1;
}

static void
add_op(struct recording *rec, size_t *room, const struct record *r)
{
	if (rec->n == *room) {
		*room = *room ? *room * 2 : 1024;
		rec->ops = realloc(rec->ops, *room * sizeof(*rec->ops));
		if (!rec->ops)
			die("memory");
	}
	rec->ops[rec->n++] = op_of(r);
	if (r->kind == RECORD_START)
		rec->start = rec->n;
	count_node(rec, r->node);
	count_node(rec, r->dir);
	count_node(rec, r->dir2);
}

/* Thread the ops of each node together. */
static void
link_ops(struct recording *rec)
{
	size_t *last, i;
	uint64_t node;

	rec->first = need(rec->nnodes, sizeof(size_t));
	rec->made = need(rec->nnodes, sizeof(size_t));
	last = need(rec->nnodes, sizeof(size_t));
	for (node = 0; node < rec->nnodes; node++)
		rec->first[node] = rec->made[node] = NONE;
	for (i = 0; i < rec->n; i++) {
		node = rec->ops[i].r->node;
		if (rec->first[node] == NONE)
			rec->first[node] = i;
		else
			rec->ops[last[node]].next = i;
		last[node] = i;
		if (rec->ops[i].r->kind == RECORD_MAKE)
			rec->made[node] = i;
	}
	free(last);
}

struct recording
recording_read(const char *path)
{
	struct recording rec = { .nnodes = RECORD_ROOT + 1 };
	const struct record *r;
	size_t size, off = sizeof(uint64_t), room = 0;
	const char *base;

	base = map(path, &size);
	for (; (r = record_at(base, size, off)); off += r->size)
		add_op(&rec, &room, r);
	errno = EINVAL;
	if (!rec.start)
		die(path);
	link_ops(&rec);
	return rec;
}
