/* SPDX-License-Identifier: BSD-3-Clause */
/* random-ops-slots.c -- the descriptors of a process, some of them shared */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/random-ops.h"

static uint32_t
take_desc(void)
{
	for (uint32_t i = ro_run.desc_lo; i < ro_run.desc_hi; i++)
		if (!ro_run.desc_used[i]) {
			ro_run.desc_used[i] = true;
			return i;
		}
	ro_fail("no description left");
}

struct ro_desc *
ro_desc(const struct ro_slot *slot)
{
	return &ro_run.s->desc[slot->desc];
}

struct ro_slot *
ro_free_slot(void)
{
	for (uint32_t i = 0; i < RO_SLOTS; i++)
		if (ro_run.slot[i].fd < 0)
			return &ro_run.slot[i];
	return NULL;
}

struct ro_slot *
ro_open(uint32_t file, int flags)
{
	struct ro_file *f = &ro_run.s->file[file];
	struct ro_slot *slot = ro_free_slot();
	struct ro_desc *d;

	if (f->nameless)
		return NULL;
	if (!slot) {
		slot = &ro_run.slot[ro_run.done % RO_SLOTS];
		ro_close(slot);
	}
	slot->fd = open(f->path, flags | O_CLOEXEC, 0644);
	RO_CHECK(slot->fd >= 0, f->path);
	slot->file = file;
	slot->desc = take_desc();
	ro_run.gen[file] = f->gen;
	d = ro_desc(slot);
	*d = (struct ro_desc){
		.reads = (flags & O_ACCMODE) != O_WRONLY,
		.writes = (flags & O_ACCMODE) != O_RDONLY,
		.appends = flags & O_APPEND,
	};
	if (flags & O_TRUNC)
		ro_set_size(f, 0);
	return slot;
}

void
ro_close(struct ro_slot *slot)
{
	uint32_t desc = slot->desc;

	RO_CHECK(close(slot->fd) == 0, "close");
	slot->fd = -1;
	for (uint32_t i = 0; i < RO_SLOTS; i++)
		if (ro_run.slot[i].fd >= 0 && ro_run.slot[i].desc == desc)
			return;
	if (desc >= ro_run.desc_lo)
		ro_run.desc_used[desc] = false;
}

void
ro_close_all(int file)
{
	for (uint32_t i = 0; i < RO_SLOTS; i++)
		if (ro_run.slot[i].fd >= 0 &&
		    (file < 0 || ro_run.slot[i].file == (uint32_t)file))
			ro_close(&ro_run.slot[i]);
}

void
ro_forget_gone(void)
{
	for (uint32_t i = 0; i < RO_FILES; i++)
		if (ro_run.gen[i] != ro_run.s->file[i].gen) {
			if (i == 0 && ro_run.held)
				(void)munmap(ro_run.held, ro_run.held_len);
			if (i == 0)
				ro_run.held = NULL;
			ro_close_all((int)i);
			if (!ro_run.s->file[i].nameless)
				ro_run.gen[i] = ro_run.s->file[i].gen;
		}
}

/* The file most things happen to is the first one. */
uint32_t
ro_file(uint64_t r)
{
	return r >> 61 == 0 && !ro_run.sized;
}

static struct ro_slot *
find(uint32_t file, uint64_t r, bool reads, bool writes, bool appends)
{
	for (uint32_t i = 0; i < RO_SLOTS; i++) {
		struct ro_slot *s = &ro_run.slot[(i + r) % RO_SLOTS];
		const struct ro_desc *d = &ro_run.s->desc[s->desc];

		if (s->fd >= 0 && s->file == file && (!reads || d->reads) &&
		    (!writes || d->writes) && d->appends == appends)
			return s;
	}
	return NULL;
}

struct ro_slot *
ro_reader(uint32_t file, uint64_t r)
{
	struct ro_slot *s = find(file, r >> 32, true, false, false);

	return s ? s : ro_open(file, r & 1 ? O_RDWR : O_RDONLY);
}

struct ro_slot *
ro_writer(uint32_t file, uint64_t r)
{
	struct ro_slot *s = find(file, r >> 32, false, true, false);

	return s ? s : ro_open(file, r & 7 ? O_RDWR : O_WRONLY);
}

struct ro_slot *
ro_appender(uint32_t file, uint64_t r)
{
	struct ro_slot *s = find(file, r >> 32, false, true, true);

	return s ? s : ro_open(file, O_APPEND | (r & 7 ? O_RDWR : O_WRONLY));
}

void
ro_verify(uint32_t file)
{
	struct ro_file *f = &ro_run.s->file[file];
	struct ro_slot *slot = ro_reader(file, 1);
	uint64_t at = ro_run.lo;

	while (slot && at < ro_run.hi) {
		uint64_t n = ro_rest(at), want;
		ssize_t r;

		n = n > 1u << 20 ? 1u << 20 : n;
		want = ro_readable(f, at, n);
		r = pread(slot->fd, ro_run.buf, n, (off_t)ro_off(at));
		if (r != (ssize_t)(ro_run.sized ? n : want))
			ro_fail("verifying: pread of %llu at %#llx gave %lld, "
				"expected %llu", (unsigned long long)n,
				(unsigned long long)ro_off(at), (long long)r,
				(unsigned long long)want);
		ro_same(f, at, ro_run.buf, want);
		at += n;
	}
}
