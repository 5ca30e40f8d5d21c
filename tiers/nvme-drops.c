/* SPDX-License-Identifier: BSD-3-Clause */
/* nvme-drops.c -- drops that are in no head yet, for whoever comes after us */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shm/crc32c.h"
#include "shm/sys.h"
#include "tiers/nvme.h"

/*
 * A drop survives the death of its drainer: it is noted in a small file that
 * is never synced, and begins anew with each sync, when the heads have it. To
 * note one twice does no harm, since a place is used once in a life.
 *
 * After a loss of power the notes do not count: one may have reached the disk
 * before the object that came in place of the dropped one. So they bear the
 * number of the boot.
 */
#define NAME	"nvme.drops"

struct note {
	uint64_t place, life;
	uint32_t blocks;
	uint32_t boot;
	uint32_t spare;
	uint32_t crc;			/* of all before it */
};
static_assert(sizeof(struct note) == 32, "stored");

enum { NOTES = SPW_NVME_DROPS / sizeof(struct note) };

static uint32_t
sum(const struct note *note)
{
	return spw_crc32c(0, note, offsetof(struct note, crc));
}

static void
carry_out(struct spw_nvme *t, const struct note *note)
{
	uint64_t at = note->place & UINT32_MAX;
	uint64_t from = at - at % SPW_LOG_BLOCK;
	uint64_t n = (uint64_t)note->blocks * SPW_LOG_BLOCK;
	struct spw_log *log = NULL;

	if (note->place >> 32 < t->nlogs)
		log = t->logs[note->place >> 32];
	if (!log || log->headless || log->life != note->life ||
	    from > log->size || n > log->size - from ||
	    spw_log_is_dead(log, from))
		return;
	spw_log_bury(log, from, from + n);
	spw_log_list(t, log);
}

static int
read_notes(struct spw_nvme *t)
{
	struct note *notes = calloc(NOTES, sizeof(*notes));
	unsigned i;
	int r;

	if (!notes)
		return -ENOMEM;
	r = spw_share_read(t->drops, notes, SPW_NVME_DROPS, 0);
	for (i = 0; i < NOTES && r == 0; i++)
		if (notes[i].crc == sum(&notes[i]) &&
		    notes[i].boot == t->boot) {
			carry_out(t, &notes[i]);
			t->noted = i + 1;	/* they stay until a sync */
		}
	free(notes);
	return r == -ENODATA ? 0 : r;	/* its maker died at once */
}

/* Without notes more is there than need be. So what has taken their place, a
 * link or a pipe, hides nothing, and goes. */
static int
open_notes(const struct spw_share *share)
{
	int fd = spw_share_open_file(share, NAME, share->look_only ? O_RDONLY
								   : O_RDWR);

	if (fd >= 0 || share->look_only)
		return fd;
	if (fd == -EPERM && spw_share_unlink(share, NAME) == -EISDIR)
		(void)spw_syscall(SYS_unlinkat, share->dir, (long)NAME,
				  AT_REMOVEDIR, 0, 0, 0);
	return spw_sys_openat(share->dir, NAME, O_RDWR | O_CREAT | O_EXCL |
			      O_CLOEXEC, 0600);
}

int
spw_nvme_read_drops(struct spw_nvme *t)
{
	bool look_only = t->share.look_only;
	int r;

	t->boot = spw_share_boot();
	t->drops = open_notes(&t->share);
	if (t->drops < 0)
		return look_only ? 0 : t->drops;
	r = read_notes(t);
	/* Where nothing is going to be put there is nothing to drop. */
	if (r < 0 || look_only || t->capacity < t->total)
		return r;
	r = spw_sys_fallocate(t->drops, 0, 0, SPW_NVME_DROPS);
	if (r == -EOPNOTSUPP)
		r = spw_sys_ftruncate(t->drops, SPW_NVME_DROPS);
	return r;
}

/* Between syncs there is room for so many; then it is time for one. */
int
spw_nvme_note_drop(struct spw_nvme *t, const struct spw_log *log,
		   uint64_t offset, uint64_t n)
{
	uint64_t end = offset + n;
	struct note note = {
		.place = spw_nvme_place(log, offset),
		.life = log->life,
		.boot = t->boot,
	};
	int r;

	if (t->noted == NOTES)
		return -ENOBUFS;
	/* With what is behind it, if that is nobody's. */
	if (end % SPW_LOG_BLOCK && spw_log_is_dead(log, end))
		end = spw_round_up(end, SPW_LOG_BLOCK);
	note.blocks = (uint32_t)(end / SPW_LOG_BLOCK - offset / SPW_LOG_BLOCK);
	note.crc = sum(&note);
	r = spw_share_write(t->drops, &note, sizeof(note),
			    t->noted * sizeof(note));
	if (r == 0)
		t->noted++;
	return r;
}

/* A disk that is full takes no notes either, but room that is given back. */
void
spw_nvme_note_failed(struct spw_nvme *t, const struct spw_log *log,
		     uint64_t offset, uint64_t n)
{
	if (spw_nvme_note_drop(t, log, offset, n) < 0)
		(void)spw_sys_fallocate(log->fd, FALLOC_FL_PUNCH_HOLE |
					FALLOC_FL_KEEP_SIZE, offset, n);
}

bool
spw_nvme_is_drops(const char *name)
{
	return !strcmp(name, NAME);
}
