/* SPDX-License-Identifier: BSD-3-Clause */
/* verify.c -- whether what was drained is really there: sums, read back */
#include "tools/verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shm/blocks.h"
#include "shm/crc32c.h"
#include "shm/mask.h"
#include "shm/sys.h"
#include "shm/util.h"

struct proof {
	uint32_t file;			/* index into who */
	uint32_t crc;
	uint64_t at;
	uint16_t n;
};

struct who {				/* a copy: records are reused */
	uint64_t dev, ino;
	char path[SPW_FILE_PATH];
	bool needed;
};

struct spw_proofs {
	struct proof *proof;
	struct who *who;
	size_t n, cap;
	uint32_t n_files;
};

static int
add(struct spw_proofs *p, const struct proof *proof)
{
	if (p->n == p->cap) {
		size_t cap = p->cap ? 2 * p->cap : 1024;
		void *more = realloc(p->proof, cap * sizeof(*p->proof));

		if (!more)
			return -ENOMEM;
		p->proof = more;
		p->cap = cap;
	}
	p->proof[p->n++] = *proof;
	return 0;
}

/* Bytes past the end are those of a writer that died before it returned. */
static int
take_block(const struct spw_map *map, const struct spw_block *b,
	   struct spw_proofs *p)
{
	uint64_t size = atomic_load(&map->files[b->file].size);
	uint64_t base = b->number << SPW_BLOCK_SHIFT;
	uint32_t from = 0, to;
	struct spw_mask dirty;
	int r = 0;

	if (b->state.slot >= map->counts[SPW_POOL_SLOTS])
		return 0;
	spw_mask_dirty(map, &b->state, &dirty);
	for (; r == 0 && spw_mask_next(&dirty, &from, &to); from = to) {
		uint32_t n;

		if (base + from >= size)
			break;
		n = (uint32_t)SPW_MIN((uint64_t)to, size - base) - from;
		r = add(p, &(struct proof){
			.file = b->file, .at = base + from, .n = (uint16_t)n,
			.crc = spw_crc32c(0, spw_slot(map, b->state.slot) +
					  from, n),
		});
	}
	return r;
}

static bool
is_taken(const struct spw_map *map, uint32_t i)
{
	const struct spw_block *b = &map->blocks[i];

	return atomic_load(&map->owners[SPW_POOL_BLOCKS][i]) & SPW_IN_USE &&
	       b->file < map->counts[SPW_POOL_FILES] && b->state.ndirty &&
	       !(atomic_load(&map->files[b->file].flags) &
		 SPW_FILE_UNLINKED);
}

static void
note_file(const struct spw_map *map, uint32_t file, struct who *w)
{
	const struct spw_file *f = &map->files[file];

	if (w->needed)
		return;
	w->needed = true;
	w->dev = f->dev;
	w->ino = f->ino;
	memcpy(w->path, f->path, SPW_FILE_PATH);
	w->path[SPW_FILE_PATH - 1] = '\0';
}

static int
compare(const void *a, const void *b)
{
	const struct proof *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

int
spw_proofs_take(const struct spw_map *map, struct spw_proofs **ret)
{
	uint32_t ready = spw_seg_ready(map, SPW_POOL_BLOCKS);
	struct spw_proofs *p = calloc(1, sizeof(*p));
	int r = p ? 0 : -ENOMEM;

	if (p) {
		p->n_files = map->counts[SPW_POOL_FILES];
		p->who = calloc(p->n_files, sizeof(*p->who));
		r = p->who ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; r == 0 && i < ready; i++) {
		if (!is_taken(map, i))
			continue;
		note_file(map, map->blocks[i].file,
			  &p->who[map->blocks[i].file]);
		r = take_block(map, &map->blocks[i], p);
	}
	if (r < 0) {
		spw_proofs_free(p);
		return r;
	}
	if (p->n)
		qsort(p->proof, p->n, sizeof(*p->proof), compare);
	*ret = p;
	return 0;
}

static int
open_home(const struct who *w)
{
	int fd = spw_sys_open(w->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW |
			      O_NONBLOCK, 0);
	struct stat st;

	if (fd < 0)
		return fd;
	if (spw_sys_fstat(fd, &st) == 0 && st.st_dev == w->dev &&
	    st.st_ino == w->ino)
		return fd;
	spw_sys_close(fd);
	return -ESTALE;
}

static bool
is_there(int fd, const struct proof *proof)
{
	uint8_t buf[SPW_BLOCK_SIZE];

	return spw_sys_pread(fd, buf, proof->n, proof->at) == proof->n &&
	       spw_crc32c(0, buf, proof->n) == proof->crc;
}

void
spw_proofs_check(const struct spw_proofs *p, struct spw_verdict *ret)
{
	struct spw_verdict v = { 0 };
	uint32_t file = SPW_NONE, bad_file = SPW_NONE;
	int fd = -1;

	for (size_t i = 0; i < p->n; i++) {
		const struct proof *proof = &p->proof[i];

		if (proof->file != file) {
			if (fd >= 0)
				spw_sys_close(fd);
			file = proof->file;
			fd = open_home(&p->who[file]);
		}
		if (fd < 0) {
			v.unseen_bytes += proof->n;
		} else if (is_there(fd, proof)) {
			v.good_bytes += proof->n;
		} else {
			v.bad_bytes += proof->n;
			v.bad_files += file != bad_file;
			bad_file = file;
		}
	}
	if (fd >= 0)
		spw_sys_close(fd);
	*ret = v;
}

void
spw_proofs_free(struct spw_proofs *p)
{
	if (!p)
		return;
	free(p->proof);
	free(p->who);
	free(p);
}
