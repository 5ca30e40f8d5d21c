/* SPDX-License-Identifier: BSD-3-Clause */
/* claims.c -- the table of claims: jobs, and chains of files they have */

/*
 * Files are spread over stripes, each with a robust mutex, heads of chains
 * and claims of its own. A chain is whole after every single store, so who
 * finds that the owner of a mutex died goes on; what the dead had taken out
 * of the unused ones is lost until the table is. Memory of claims is
 * reserved as it is needed: a full /dev/shm is an error and not a SIGBUS.
 *
 * The table is that of all jobs, and who has a mutex may be stopped. He is not
 * waited for long: his stripe is looked through without the mutex, which is
 * sound if nothing was taken out of it meanwhile (stripe.changes), and the job
 * is at large there, for as long as it lives: others treat each file of the
 * stripe as one that it claims. Who looks for that does so after his own claim
 * is in the chain, and who is at large looks through the chain after he has
 * said so: one of the two sees the other. Jobs are entered without any lock.
 *
 * The last job takes the table along. Whether it stays is decided by who has
 * the lock of its file: `gone` is set before one looks for jobs that came
 * meanwhile, and whoever finds it set, since its setter was killed, decides
 * anew. Until then nobody makes another table under that name.
 *
 * A job that was killed may leave claims behind. They are void when its
 * segment is gone, and are taken away when somebody meets them or the room
 * is needed.
 */
#include "shm/claims.h"

#include <errno.h>
#include <stddef.h>

#include "shm/crc32c.h"
#include "shm/failpoint.h"
#include "shm/guard.h"
#include "shm/nofile.h"
#include "shm/reserve.h"
#include "shm/sys.h"
#include "shm/text.h"
#include "shm/util.h"

#define MAGIC	0x316d696c63777053ull	/* "Spwclim1", little endian */

enum {
	VERSION = 2, STRIPES = 64, HEADS = 128, JOBS = 256,
	CLAIMS = 4096,			/* of a stripe */
	STEP = 4096 / 32,		/* reserved at once: a page */
	RACES = 100,			/* made and removed under our hands */
	PATIENCE_MS = 500,		/* for who opens a file, once a stripe */
	DROP_MS = 5,			/* for who has many to drop */
	DECIDE_MS = 1000,
	SPINS = 200, LOOK_US = 50,
};

struct claim {
	uint64_t dev, ino;
	uint32_t job, gen;		/* void when the job has another gen */
	_Atomic uint32_t next;		/* in the chain, or unused: index + 1 */
	uint32_t pad;
};
static_assert(sizeof(struct claim) == 32, "stored in the table");

struct stripe {
	pthread_mutex_t lock;
	_Atomic uint32_t ready;		/* claims whose memory is reserved */
	_Atomic uint32_t unused;	/* chain of those: index + 1 */
	_Atomic uint32_t changes;	/* bumped when claims are taken out */
	_Atomic uint32_t heads[HEADS];
	_Atomic uint64_t at_large[JOBS / 64];	/* may have any file of it */
};

struct job {
	_Atomic uint32_t gen;		/* odd: in use */
	_Atomic uint32_t taken;		/* the same, or being filled in */
	uint64_t ino, created;		/* the segment's */
	char name[SPW_JOB_MAX + 8];
};

struct fixed {				/* set once, under the checksum */
	uint64_t magic;
	uint32_t version, layout;
	uint64_t size;
	uint32_t uid, pad;
	char boot_id[40];
};

struct shared {
	struct fixed fixed;
	uint32_t crc;
	_Atomic uint32_t gone;		/* its name is: take the new one */
	_Atomic uint32_t dropped;	/* bumped when claims go */
	struct job jobs[JOBS];
	struct stripe stripes[STRIPES];
};

#define CLAIMS_OFF ((sizeof(struct shared) + 4095) & ~(size_t)4095)
#define TABLE_SIZE (CLAIMS_OFF + sizeof(struct claim) * CLAIMS * STRIPES)

struct spw_claims {			/* this process's mapping */
	struct shared *at;
	uint64_t ino;
	char dir[SPW_SEG_PATH_MAX];	/* with the slash */
	char path[SPW_SEG_PATH_MAX];
};

static struct spw_claims *_Atomic the_table;	/* one user, one directory */

static uint32_t
layout_hash(void)
{
	const uint32_t sizes[] = {
		sizeof(struct shared), sizeof(struct claim),
		sizeof(pthread_mutex_t), STRIPES, HEADS, JOBS, CLAIMS,
	};

	return spw_crc32c(0, sizes, sizeof(sizes));
}

static struct claim *
claims_of(const struct spw_claims *c, uint32_t stripe)
{
	return (struct claim *)((char *)c->at + CLAIMS_OFF) +
	       (size_t)stripe * CLAIMS;
}

static int
lock_soon(pthread_mutex_t *lock, int ms)
{
	int64_t until = 0;
	int r;

	for (int i = 0; (r = pthread_mutex_trylock(lock)) == EBUSY; i++) {
		if (i < SPINS) {
			spw_pause();
			continue;
		}
		if (!until)
			until = spw_now_ms() + ms;
		if (spw_now_ms() > until)
			break;
		spw_sys_sleep_us(LOOK_US);
	}
	return r;
}

/* -EBUSY: who has it does not go on. */
static int
take(pthread_mutex_t *lock, int ms)
{
	int r;

	spw_guard_enter();
	r = lock_soon(lock, ms);
	if (r == EOWNERDEAD)
		r = pthread_mutex_consistent(lock);
	if (r)
		spw_guard_leave();
	return -r;
}

static void
give(pthread_mutex_t *lock)
{
	pthread_mutex_unlock(lock);
	spw_guard_leave();
}

static void
init_locks(struct shared *at)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	for (int i = 0; i < STRIPES; i++)
		pthread_mutex_init(&at->stripes[i].lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

static int
fill(int fd)
{
	struct fixed f = {
		.magic = MAGIC, .version = VERSION, .layout = layout_hash(),
		.size = TABLE_SIZE, .uid = spw_sys_geteuid(),
	};
	struct shared *at;
	int r = spw_reserve_size(fd, TABLE_SIZE);

	if (r == 0)
		r = spw_reserve(fd, 0, CLAIMS_OFF);
	if (r == 0)
		r = spw_seg_note_boot(f.boot_id);
	if (r < 0)
		return r;
	at = spw_seg_map(fd, TABLE_SIZE);
	if (!at)
		return -ENOMEM;
	at->dropped = 1;		/* 0: not looked at */
	at->fixed = f;
	at->crc = spw_crc32c(0, &f, sizeof(f));
	init_locks(at);
	return spw_sys_munmap(at, TABLE_SIZE);
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
	struct { struct fixed fixed; uint32_t crc; } head;
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
	    head.fixed.size != TABLE_SIZE ||
	    (uint64_t)st.st_size != TABLE_SIZE)
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

static bool
is_in_use(const struct spw_claims *c)
{
	for (int i = 0; i < JOBS; i++)
		if (atomic_load(&c->at->jobs[i].gen) & 1)
			return true;
	return false;
}

/* Who enters a job looks whether the table is gone afterwards, and so do we
 * whether there are jobs: one of us sees the other. */
static void
decide(const struct spw_claims *c)
{
	while (!is_in_use(c)) {
		atomic_store(&c->at->gone, 1);
		SPW_FAILPOINT("claims-gone");
		if (!is_in_use(c)) {
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
	c->at = r == 0 ? spw_seg_map(fd, TABLE_SIZE) : NULL;
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
		(void)spw_sys_munmap(c->at, TABLE_SIZE);
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

	return base && at >= base && at < base + TABLE_SIZE;
}

/* Numbers of files come again, times of creation do not. */
static bool
is_another(int fd, const struct job *job)
{
	struct stat st;
	uint64_t created;

	if (spw_sys_fstat(fd, &st) < 0)
		return false;
	if (st.st_ino != job->ino)
		return true;
	return spw_sys_pread(fd, &created, sizeof(created),
			     offsetof(struct spw_seg_fixed, created)) ==
	       sizeof(created) && created != job->created;
}

static bool
is_gone(const struct spw_claims *c, const struct job *job)
{
	char path[SPW_SEG_PATH_MAX];
	struct spw_text t;
	bool gone;
	int fd;

	spw_text_init(&t, path, sizeof(path));
	spw_text_fmt(&t, "%s%s.seg", c->dir, job->name);
	fd = spw_sys_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
	if (fd < 0)
		return fd == -ENOENT || fd == -ELOOP;
	gone = is_another(fd, job);
	spw_sys_close(fd);
	return gone;
}

struct self {				/* the caller's job in the table */
	uint32_t job, gen;
};

/* As it was entered: if the segment was deleted by hand, another job may have
 * its entry by now. */
static struct self
self_of(const struct spw_map *map)
{
	uint64_t claims = atomic_load(&map->seg->claims);

	return (struct self){ (uint32_t)claims - 1,
			      (uint32_t)(claims >> 32) };
}

/* Makes all that the job had claimed void, if it is that job still. */
static void
end_job(struct spw_claims *c, const struct self *self)
{
	struct job *job = &c->at->jobs[self->job];
	uint32_t gen = self->gen;

	atomic_fetch_add(&c->at->dropped, 1);
	if (atomic_compare_exchange_strong(&job->gen, &gen, gen + 1))
		atomic_store(&job->taken, 0);
}

static void
forget_gone(struct spw_claims *c)
{
	for (uint32_t i = 0; i < JOBS; i++) {
		struct self it = { i, atomic_load(&c->at->jobs[i].gen) };

		if (it.gen & 1 && is_gone(c, &c->at->jobs[i]))
			end_job(c, &it);
	}
}

static bool
is_entry_of(const struct spw_claims *c, const struct self *self,
	    const struct spw_map *map)
{
	const struct job *job;

	if (self->job >= JOBS || !(self->gen & 1))
		return false;
	job = &c->at->jobs[self->job];
	return job->ino == map->ino && job->created == map->fixed.created &&
	       atomic_load(&job->gen) == self->gen;
}

static bool
find_entry(const struct spw_claims *c, const struct spw_map *map,
	   struct self *ret)
{
	for (uint32_t i = 0; i < JOBS; i++) {
		*ret = (struct self){ i, atomic_load(&c->at->jobs[i].gen) };
		if (is_entry_of(c, ret, map))
			return true;
	}
	return false;
}

static bool
take_unused(struct spw_claims *c, uint32_t *ret_job)
{
	for (uint32_t i = 0; i < JOBS; i++) {
		uint32_t no = 0;

		if (atomic_compare_exchange_strong(&c->at->jobs[i].taken, &no,
						   1)) {
			*ret_job = i;
			return true;
		}
	}
	return false;
}

/* What its predecessor was, it is not. */
static void
keep_in(struct spw_claims *c, uint32_t job)
{
	for (int i = 0; i < STRIPES; i++)
		atomic_fetch_and(&c->at->stripes[i].at_large[job / 64],
				 ~(1ull << job % 64));
}

/* Who dies before it counts has taken it for as long as there is the table. */
static int
add_job(struct spw_claims *c, const struct spw_map *map, struct self *ret)
{
	struct spw_text name;
	struct job *job;

	if (!take_unused(c, &ret->job)) {
		forget_gone(c);
		if (!take_unused(c, &ret->job))
			return -ENOSPC;
	}
	job = &c->at->jobs[ret->job];
	keep_in(c, ret->job);
	job->ino = map->ino;
	job->created = map->fixed.created;
	spw_text_init(&name, job->name, sizeof(job->name));
	spw_text_put(&name, map->fixed.job);
	SPW_FAILPOINT("claims-entering");
	ret->gen = atomic_fetch_add(&job->gen, 1) + 1;
	return 0;
}

/* Once, however many of its processes are at it. -EAGAIN: the table is gone. */
static int
enter_job(struct spw_claims *c, struct spw_map *map)
{
	uint64_t was = atomic_load(&map->seg->claims);
	struct self self = self_of(map);
	int r;

	if (is_entry_of(c, &self, map))
		return 0;
	r = find_entry(c, map, &self) ? 0 : add_job(c, map, &self);
	if (r < 0)
		return r;
	if (atomic_load(&c->at->gone)) {
		end_job(c, &self);
		return -EAGAIN;
	}
	if (atomic_compare_exchange_strong(&map->seg->claims, &was,
			(uint64_t)self.gen << 32 | (self.job + 1)) ||
	    was == ((uint64_t)self.gen << 32 | (self.job + 1)))
		return 0;
	end_job(c, &self);		/* somebody was faster */
	return enter_job(c, map);
}

int
spw_claims_join(struct spw_map *map, const char *dir)
{
	struct spw_claims *c;
	int r;

	do {
		c = spw_claims_open(dir, true, &r);
		if (!c)
			return r;
		r = enter_job(c, map);
		if (r == 0)
			map->claims = c;
	} while (r == -EAGAIN);
	return r;
}

/* The table that the job is in, found again by one of its processes that has
 * not made claims itself: the drainer, the command. */
static struct spw_claims *
table_of(struct spw_map *map)
{
	char dir[SPW_SEG_PATH_MAX];
	struct spw_text t;
	char *slash;

	if (map->claims || !atomic_load(&map->seg->claims))
		return map->claims;
	spw_text_init(&t, dir, sizeof(dir));
	spw_text_put(&t, map->path);
	for (int i = 0; i < 2; i++) {	/* DIR/spillway.UID/JOB.seg */
		slash = strrchr(dir, '/');
		if (!slash)
			return NULL;
		*slash = '\0';
	}
	map->claims = spw_claims_open(dir, false, NULL);
	return map->claims;
}

static uint32_t
hash(const struct spw_file_id *id)
{
	uint64_t h = (id->ino ^ id->dev << 40) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(h >> 40);
}

/* The chain of a file: how many steps it may have at most, and its claims. */
struct chain {
	struct stripe *stripe;
	struct claim *claims;
	_Atomic uint32_t *head;
	uint32_t ready;
	bool locked;			/* by us; else it may only be read, */
	uint32_t changes;		/* and that counts if none came since */
};

static bool
is_at_large(const struct stripe *s, const struct self *self)
{
	return self && self->job < JOBS &&
	       atomic_load(&s->at_large[self->job / 64]) &
	       1ull << self->job % 64;
}

static int
open_chain(struct spw_claims *c, const struct self *self,
	   const struct spw_file_id *id, int ms, struct chain *ret)
{
	uint32_t h = hash(id);
	struct stripe *s = &c->at->stripes[h % STRIPES];
	int r = take(&s->lock, is_at_large(s, self) ? 0 : ms);

	if (r < 0 && r != -EBUSY)
		return r;
	ret->locked = r == 0;
	ret->changes = atomic_load(&s->changes);
	ret->stripe = s;
	ret->claims = claims_of(c, h % STRIPES);
	ret->head = &s->heads[h / STRIPES % HEADS];
	ret->ready = SPW_MIN(atomic_load(&s->ready), (uint32_t)CLAIMS);
	SPW_FAILPOINT("claims-open");
	return 0;
}

/* False: what was read does not count. */
static bool
close_chain(const struct chain *chain)
{
	if (!chain->locked)
		return atomic_load(&chain->stripe->changes) == chain->changes;
	give(&chain->stripe->lock);
	return true;
}

static bool
is_void(const struct spw_claims *c, const struct claim *cl)
{
	return cl->job >= JOBS ||
	       atomic_load(&c->at->jobs[cl->job].gen) != cl->gen;
}

static bool
is_of(const struct claim *cl, const struct self *self)
{
	return cl->job == self->job && cl->gen == self->gen;
}

static bool
is_for(const struct claim *cl, const struct spw_file_id *id)
{
	return cl->ino == id->ino && cl->dev == id->dev;
}

/* Takes claims out of a chain: void ones, and that of one job on a file. */
static void
weed(struct spw_claims *c, struct chain *chain, _Atomic uint32_t *head,
     const struct self *self, const struct spw_file_id *id)
{
	_Atomic uint32_t *at = head;

	for (uint32_t n = chain->ready; n; n--) {
		uint32_t link = atomic_load(at);
		struct claim *cl;

		if (link - 1 >= chain->ready)
			return;
		cl = &chain->claims[link - 1];
		if (!is_void(c, cl) &&
		    (!id || !is_of(cl, self) || !is_for(cl, id))) {
			at = &cl->next;
			continue;
		}
		/* Who reads without the lock and was here notices one of the
		 * two before he is led astray. */
		atomic_fetch_add(&chain->stripe->changes, 1);
		atomic_fetch_add(&c->at->dropped, 1);
		atomic_store(at, atomic_load(&cl->next));
		atomic_fetch_add(&chain->stripe->changes, 1);
		atomic_store(&cl->next, atomic_load(&chain->stripe->unused));
		atomic_store(&chain->stripe->unused, link);
	}
}

struct growth {
	const struct spw_claims *c;
	uint64_t off;
};

static int
reserve_step(void *arg)
{
	const struct growth *g = arg;
	int r, fd = spw_sys_open(g->c->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW,
				 0);

	if (fd < 0)
		return fd;
	r = spw_reserve(fd, g->off, STEP * sizeof(struct claim));
	spw_sys_close(fd);
	return r;
}

static int
grow(const struct spw_claims *c, const struct chain *chain)
{
	struct stripe *s = chain->stripe;
	uint32_t ready = chain->ready;
	struct growth g = { c, (uint64_t)((char *)(chain->claims + ready) -
					  (char *)c->at) };
	int r;

	if (ready + STEP > CLAIMS)
		return -ENOSPC;
	r = spw_nofile_do(reserve_step, &g);
	for (uint32_t i = ready; r == 0 && i < ready + STEP; i++) {
		atomic_store(&chain->claims[i].next,
			     atomic_load(&s->unused));
		atomic_store(&s->ready, i + 1);
		atomic_store(&s->unused, i + 1);
	}
	return r;
}

/* An unused claim's number, or a negative errno. */
static int
new_claim(struct spw_claims *c, struct chain *chain)
{
	struct stripe *s = chain->stripe;
	uint32_t link = atomic_load(&s->unused);
	int r = 0;

	for (int i = 0; !link && i < HEADS; i++)
		weed(c, chain, &s->heads[i], NULL, NULL);
	if (!link)
		link = atomic_load(&s->unused);
	if (!link)
		r = grow(c, chain);
	if (r < 0)
		return r;
	chain->ready = SPW_MIN(atomic_load(&s->ready), (uint32_t)CLAIMS);
	link = atomic_load(&s->unused);
	if (link - 1 >= chain->ready)
		return -EBADMSG;
	atomic_store(&s->unused, atomic_load(&chain->claims[link - 1].next));
	return (int)link - 1;
}

/* Whether the job is in the chain, and how many others are. */
static bool
look_through(struct spw_claims *c, const struct chain *chain,
	     const struct self *self, const struct spw_file_id *id,
	     unsigned *ret_others)
{
	uint32_t link = atomic_load(chain->head);
	bool has = false;

	*ret_others = 0;
	for (uint32_t n = chain->ready; n && link - 1 < chain->ready; n--) {
		const struct claim *cl = &chain->claims[link - 1];

		if (is_for(cl, id) && !is_void(c, cl)) {
			if (is_of(cl, self))
				has = true;
			else
				++*ret_others;
		}
		link = atomic_load(&cl->next);
	}
	return has;
}

static int
add_claim(struct spw_claims *c, struct chain *chain, const struct self *self,
	  const struct spw_file_id *id)
{
	int at = new_claim(c, chain);
	struct claim *cl;

	if (at < 0)
		return at;
	cl = &chain->claims[at];
	cl->dev = id->dev;
	cl->ino = id->ino;
	cl->job = self->job;
	cl->gen = self->gen;
	atomic_store(&cl->next, atomic_load(chain->head));
	atomic_store(chain->head, (uint32_t)at + 1);
	return 0;
}

static bool
is_job(const struct spw_claims *c, const struct self *self, uint32_t job)
{
	return job != self->job && atomic_load(&c->at->jobs[job].gen) & 1;
}

/* Others that may have any file of the stripe, in one word of the set. */
static uint64_t
others_at_large(const struct spw_claims *c, const struct chain *chain,
		const struct self *self, uint32_t word)
{
	uint64_t set = atomic_load(&chain->stripe->at_large[word]), others = 0;

	for (; set; set &= set - 1)
		if (is_job(c, self, word * 64 +
			   (uint32_t)__builtin_ctzll(set)))
			others |= set & -set;
	return others;
}

static bool
is_other_at_large(const struct spw_claims *c, const struct chain *chain,
		  const struct self *self)
{
	for (uint32_t w = 0; w < JOBS / 64; w++)
		if (others_at_large(c, chain, self, w))
			return true;
	return false;
}

/* In place of a claim, where none can be made. */
static void
be_at_large(struct spw_claims *c, const struct chain *chain,
	    const struct self *self)
{
	if (self->job >= JOBS)
		return;
	atomic_fetch_or(&chain->stripe->at_large[self->job / 64],
			1ull << self->job % 64);
	atomic_fetch_add(&c->at->dropped, 1);
}

uint32_t
spw_claims_dropped(struct spw_map *map)
{
	struct spw_claims *c = table_of(map);

	return c ? atomic_load(&c->at->dropped) : 0;
}

int
spw_claim(struct spw_map *map, const struct spw_file_id *id, uint32_t dropped)
{
	struct spw_claims *c = table_of(map);
	struct self self = self_of(map);
	struct chain chain;
	unsigned others;
	bool has;
	int r;

	if (!c)
		return SPW_CLAIM_ALONE;
	do {
		r = open_chain(c, &self, id, PATIENCE_MS, &chain);
		if (r < 0)
			return r;
		if (!chain.locked)
			be_at_large(c, &chain, &self);
		has = look_through(c, &chain, &self, id, &others);
		if (!has && chain.locked)
			r = add_claim(c, &chain, &self, id);
	} while (!close_chain(&chain));
	if (r < 0)
		return r;
	if (others || is_other_at_large(c, &chain, &self))
		return SPW_CLAIM_CONTESTED;
	return atomic_load(&c->at->dropped) == dropped ? SPW_CLAIM_ALONE
						       : SPW_CLAIM_STALE;
}

/* One that stays where the lock is not to be had only makes others ask us. */
void
spw_claim_drop(struct spw_map *map, const struct spw_file_id *id)
{
	struct spw_claims *c = table_of(map);
	struct self self = self_of(map);
	struct chain chain;

	if (!c || open_chain(c, &self, id, DROP_MS, &chain) < 0)
		return;
	if (chain.locked)
		weed(c, &chain, chain.head, &self, id);
	(void)close_chain(&chain);
}

static void
describe(const struct spw_claims *c, uint32_t no, uint32_t gen,
	 struct spw_claimant *ret)
{
	const struct job *job = &c->at->jobs[no];
	char name[sizeof(job->name)];
	struct spw_text t;

	memcpy(name, job->name, sizeof(name));
	name[sizeof(name) - 1] = '\0';
	ret->job = no;
	ret->gen = gen;
	ret->ino = job->ino;
	ret->created = job->created;
	spw_text_init(&t, ret->path, sizeof(ret->path));
	spw_text_fmt(&t, "%s%s.seg", c->dir, name);
}

static unsigned
list_chain(const struct spw_claims *c, const struct chain *chain,
	   const struct self *self, const struct spw_file_id *id,
	   struct spw_claimant *list, unsigned max)
{
	uint32_t link = atomic_load(chain->head);
	unsigned n = 0;

	for (uint32_t i = chain->ready; i && link - 1 < chain->ready; i--) {
		const struct claim *cl = &chain->claims[link - 1];

		if (is_for(cl, id) && !is_void(c, cl) && !is_of(cl, self) &&
		    n++ < max)
			describe(c, cl->job, cl->gen, &list[n - 1]);
		link = atomic_load(&cl->next);
	}
	return n;
}

/* The same after n, of those at large. One of them may be listed twice. */
static unsigned
list_at_large(const struct spw_claims *c, const struct chain *chain,
	      const struct self *self, struct spw_claimant *list, unsigned max,
	      unsigned n)
{
	for (uint32_t w = 0; w < JOBS / 64; w++) {
		uint64_t set = others_at_large(c, chain, self, w);

		for (; set; set &= set - 1) {
			uint32_t no = w * 64 +
				      (uint32_t)__builtin_ctzll(set);

			if (n++ < max)
				describe(c, no,
					 atomic_load(&c->at->jobs[no].gen),
					 &list[n - 1]);
		}
	}
	return n;
}

unsigned
spw_claim_others(struct spw_claims *c, const struct spw_map *map,
		 const struct spw_file_id *id, struct spw_claimant *list,
		 unsigned max)
{
	struct self self = map ? self_of(map) : (struct self){ JOBS, 0 };
	struct chain chain;
	unsigned n;

	do {
		if (open_chain(c, &self, id, PATIENCE_MS, &chain) < 0)
			return 0;
		n = list_chain(c, &chain, &self, id, list, max);
	} while (!close_chain(&chain));
	return list_at_large(c, &chain, &self, list, max, n);
}

void
spw_claim_void(struct spw_claims *c, const struct spw_claimant *who,
	       const struct spw_file_id *id)
{
	const struct self its = { who->job, who->gen };
	struct chain chain;

	end_job(c, &its);
	if (open_chain(c, NULL, id, DROP_MS, &chain) < 0)
		return;
	if (chain.locked)
		weed(c, &chain, chain.head, NULL, NULL);
	(void)close_chain(&chain);
}

static bool
is_mapped(const struct spw_claims *c, int fd)
{
	struct stat st;

	return spw_sys_fstat(fd, &st) == 0 && st.st_ino == c->ino;
}

/* Who has no descriptor for it leaves it behind. */
static void
remove_unused_table(struct spw_claims *c)
{
	int fd;

	if (is_in_use(c))
		return;
	fd = spw_sys_open(c->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
	if (fd < 0)
		return;
	if (is_mapped(c, fd))
		(void)decide_locked(c, fd);
	spw_seg_unlock_byte(fd, 0);
}

void
spw_claims_part(struct spw_map *map)
{
	struct spw_claims *c = table_of(map);
	struct self self;

	if (!c)
		return;
	if (find_entry(c, map, &self))
		end_job(c, &self);
	forget_gone(c);
	remove_unused_table(c);
}
