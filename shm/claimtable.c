/* SPDX-License-Identifier: BSD-3-Clause */
/* claimtable.c -- the table of claims is made, mapped and taken away */

/*
 * The last job takes the table along. Whether it stays is decided by who has
 * the lock of its file: `gone` is set before one looks for jobs that came
 * meanwhile, and whoever finds it set, since its setter was killed, decides
 * anew. Until then nobody makes another table under that name.
 */
#include "shm/claimtable.h"

#include <errno.h>

#include "shm/crc32c.h"
#include "shm/failpoint.h"
#include "shm/reserve.h"
#include "shm/sys.h"
#include "shm/text.h"

#define MAGIC	0x316d696c63777053ull	/* "Spwclim1", little endian */

enum {
	VERSION = 2,
	RACES = 100,			/* made and removed under our hands */
	DECIDE_MS = 1000, LOOK_US = 50,
};

static struct spw_claims *_Atomic the_table;	/* one user, one directory */

static uint32_t
layout_hash(void)
{
	const uint32_t sizes[] = {
		sizeof(struct spw_claims_shared), sizeof(struct spw_claim),
		sizeof(pthread_mutex_t), SPW_CLAIM_STRIPES, SPW_CLAIM_HEADS,
		SPW_CLAIM_JOBS, SPW_CLAIM_MOST,
	};

	return spw_crc32c(0, sizes, sizeof(sizes));
}

static void
init_locks(struct spw_claims_shared *at)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	for (int i = 0; i < SPW_CLAIM_STRIPES; i++)
		pthread_mutex_init(&at->stripes[i].lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

static int
fill(int fd)
{
	struct spw_claims_fixed f = {
		.magic = MAGIC, .version = VERSION, .layout = layout_hash(),
		.size = SPW_CLAIMS_SIZE, .uid = spw_sys_geteuid(),
	};
	struct spw_claims_shared *at;
	int r = spw_reserve_size(fd, SPW_CLAIMS_SIZE);

	if (r == 0)
		r = spw_reserve(fd, 0, SPW_CLAIMS_OFF);
	if (r == 0)
		r = spw_seg_note_boot(f.boot_id);
	if (r < 0)
		return r;
	at = spw_seg_map(fd, SPW_CLAIMS_SIZE);
	if (!at)
		return -ENOMEM;
	at->dropped = 1;		/* 0: not looked at */
	at->fixed = f;
	at->crc = spw_crc32c(0, &f, sizeof(f));
	init_locks(at);
	return spw_sys_munmap(at, SPW_CLAIMS_SIZE);
}

/* Built without a name and then linked, so nobody sees half of one. */
static int
make_table(const struct spw_claims *c)
{
	int r, fd = spw_sys_open(c->dir, O_TMPFILE | O_RDWR | O_CLOEXEC,
				 0600);

	if (fd < 0)
		return fd;
	r = fill(fd);
	if (r == 0)
		r = spw_seg_link(fd, c->path);
	spw_sys_close(fd);
	return r == -EEXIST ? 0 : r;
}

static int
check(int fd, uint64_t *ret_ino)
{
	struct stat st;
	struct { struct spw_claims_fixed fixed; uint32_t crc; } head;
	int r = spw_sys_fstat(fd, &st);

	if (r < 0)
		return r;
	if (!S_ISREG(st.st_mode) || st.st_uid != spw_sys_geteuid() ||
	    (st.st_mode & 077) || st.st_nlink > 1)
		return -EPERM;
	if (spw_sys_pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    head.fixed.magic != MAGIC)
		return -EBADMSG;
	if (head.fixed.version != VERSION ||
	    head.fixed.layout != layout_hash())
		return -EPROTO;
	if (spw_crc32c(0, &head.fixed, sizeof(head.fixed)) != head.crc ||
	    head.fixed.size != SPW_CLAIMS_SIZE ||
	    (uint64_t)st.st_size != SPW_CLAIMS_SIZE)
		return -EBADMSG;
	if (head.fixed.uid != st.st_uid)
		return -EPERM;
	*ret_ino = st.st_ino;
	return spw_seg_is_of_boot(head.fixed.boot_id) ? 0 : -ESTALE;
}

/* The mapping is described in memory of its own: a table that is gone stays,
 * since another thread may be looking at it. */
static int
describe_mapping(const struct spw_claims *c)
{
	struct spw_claims *own = spw_sys_mmap(NULL, sizeof(*own),
					      PROT_READ | PROT_WRITE,
					      MAP_PRIVATE | MAP_ANONYMOUS,
					      -1, 0);

	if (own == MAP_FAILED)
		return -ENOMEM;
	*own = *c;
	atomic_store(&the_table, own);
	return 0;
}

bool
spw_claimtable_used(const struct spw_claims *c)
{
	for (int i = 0; i < SPW_CLAIM_JOBS; i++)
		if (atomic_load(&c->at->jobs[i].gen) & 1)
			return true;
	return false;
}

/* Who enters a job looks whether the table is gone afterwards, and so do we
 * whether there are jobs: one of us sees the other. */
static void
decide(const struct spw_claims *c)
{
	while (!spw_claimtable_used(c)) {
		atomic_store(&c->at->gone, 1);
		SPW_FAILPOINT("claims-gone");
		if (!spw_claimtable_used(c)) {
			(void)spw_sys_unlink(c->path);	/* deleted is as good */
			return;
		}
		atomic_store(&c->at->gone, 0);
	}
	atomic_store(&c->at->gone, 0);	/* by one who was killed */
}

static int
lock_table(int fd)
{
	int64_t until = spw_now_ms() + DECIDE_MS;
	int r;

	while ((r = spw_seg_lock_fd(fd, 0)) == -EAGAIN &&
	       spw_now_ms() < until)
		spw_sys_sleep_us(LOOK_US);
	return r == -EAGAIN ? -EBUSY : r;
}

/* fd is a description of its own of the table that c has mapped. */
static int
decide_locked(const struct spw_claims *c, int fd)
{
	struct stat mine, named;
	int r = lock_table(fd);

	if (r < 0)
		return r;
	if (spw_sys_fstat(fd, &mine) == 0 &&
	    spw_sys_fstatat(AT_FDCWD, c->path, &named,
			    AT_SYMLINK_NOFOLLOW) == 0 &&
	    mine.st_dev == named.st_dev && mine.st_ino == named.st_ino)
		decide(c);
	return 0;
}

/* -ENOENT: it is gone, or goes. */
static int
map_existing(struct spw_claims *c)
{
	int r, fd = spw_sys_open(c->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);

	if (fd < 0)
		return fd == -ELOOP ? -EPERM : fd;
	r = check(fd, &c->ino);
	c->at = r == 0 ? spw_seg_map(fd, SPW_CLAIMS_SIZE) : NULL;
	if (r == 0 && !c->at)
		r = -ENOMEM;
	if (r == 0 && atomic_load(&c->at->gone)) {
		r = decide_locked(c, fd);
		if (r == 0 && atomic_load(&c->at->gone))
			r = -ENOENT;
		spw_seg_unlock_byte(fd, 0);
	} else {
		spw_sys_close(fd);
	}
	if (r < 0 && c->at)
		(void)spw_sys_munmap(c->at, SPW_CLAIMS_SIZE);
	return r < 0 ? r : describe_mapping(c);
}

static int
name_table(struct spw_claims *c, const char *dir)
{
	struct spw_text t;
	int r = spw_seg_path(dir, NULL, c->dir, sizeof(c->dir));

	if (r < 0)
		return r;
	spw_text_init(&t, c->path, sizeof(c->path));
	spw_text_fmt(&t, "%sclaims", c->dir);
	return t.cut ? -ENAMETOOLONG : 0;
}

struct spw_claims *
spw_claims_mapped(void)
{
	struct spw_claims *known = atomic_load(&the_table);

	return known && !atomic_load(&known->at->gone) ? known : NULL;
}

struct spw_claims *
spw_claims_open(const char *dir, bool make, int *ret_err)
{
	struct spw_claims *known = spw_claims_mapped(), c;
	int r;

	if (known)
		return known;
	r = name_table(&c, dir);
	if (r == 0)
		r = map_existing(&c);
	for (int i = 0; r == -ENOENT && make && i < RACES; i++) {
		r = make_table(&c);
		if (r == 0)
			r = map_existing(&c);
	}
	if (ret_err)
		*ret_err = r;
	return r == 0 ? atomic_load(&the_table) : NULL;
}

bool
spw_claims_lie_at(uint64_t at)
{
	const struct spw_claims *c = atomic_load(&the_table);
	uint64_t base = c ? (uint64_t)(uintptr_t)c->at : 0;

	return base && at >= base && at < base + SPW_CLAIMS_SIZE;
}

static bool
is_mapped(const struct spw_claims *c, int fd)
{
	struct stat st;

	return spw_sys_fstat(fd, &st) == 0 && st.st_ino == c->ino;
}

void
spw_claimtable_remove_unused(struct spw_claims *c)
{
	int fd;

	if (spw_claimtable_used(c))
		return;
	fd = spw_sys_open(c->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
	if (fd < 0)
		return;
	if (is_mapped(c, fd))
		(void)decide_locked(c, fd);
	spw_seg_unlock_byte(fd, 0);
}
