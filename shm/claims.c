/* SPDX-License-Identifier: BSD-3-Clause */
/* claims.c -- which jobs have which files: chains of claims in the table */

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
 * A job that was killed may leave claims behind. They are void when its
 * segment is gone, and are taken away when somebody meets them or the room
 * is needed.
 */
#include "shm/claimtable.h"

#include <errno.h>

#include "shm/failpoint.h"
#include "shm/guard.h"
#include "shm/nofile.h"
#include "shm/reserve.h"
#include "shm/sys.h"
#include "shm/text.h"
#include "shm/util.h"

enum {
	STEP = 4096 / 32,		/* reserved at once: a page */
	PATIENCE_MS = 500,		/* for who opens a file, a stripe */
	DROP_MS = 5,			/* for who has many to drop */
	SPINS = 200, LOOK_US = 50,
};

static struct spw_claim *
claims_of(const struct spw_claims *c, uint32_t stripe)
{
	return (struct spw_claim *)((char *)c->at + SPW_CLAIMS_OFF) +
	       (size_t)stripe * SPW_CLAIM_MOST;
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

static uint32_t
hash(const struct spw_file_id *id)
{
	uint64_t h = (id->ino ^ id->dev << 40) * 0x9e3779b97f4a7c15ull;

	return (uint32_t)(h >> 40);
}

/* The chain of a file: how many steps it may have at most, and its claims. */
struct chain {
	struct spw_claim_stripe *stripe;
	struct spw_claim *claims;
	_Atomic uint32_t *head;
	uint32_t ready;
	bool locked;			/* by us; else it may only be read, */
	uint32_t changes;		/* and that counts if none came since */
};

static bool
is_at_large(const struct spw_claim_stripe *s, const struct spw_claim_self *self)
{
	return self && self->job < SPW_CLAIM_JOBS &&
	       atomic_load(&s->at_large[self->job / 64]) &
	       1ull << self->job % 64;
}

static uint32_t
ready_of(const struct spw_claim_stripe *s)
{
	return SPW_MIN(atomic_load(&s->ready), (uint32_t)SPW_CLAIM_MOST);
}

static int
open_chain(struct spw_claims *c, const struct spw_claim_self *self,
	   const struct spw_file_id *id, int ms, struct chain *ret)
{
	uint32_t h = hash(id);
	struct spw_claim_stripe *s = &c->at->stripes[h % SPW_CLAIM_STRIPES];
	int r = take(&s->lock, is_at_large(s, self) ? 0 : ms);

	if (r < 0 && r != -EBUSY)
		return r;
	ret->locked = r == 0;
	ret->changes = atomic_load(&s->changes);
	ret->stripe = s;
	ret->claims = claims_of(c, h % SPW_CLAIM_STRIPES);
	ret->head = &s->heads[h / SPW_CLAIM_STRIPES % SPW_CLAIM_HEADS];
	ret->ready = ready_of(s);
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
is_void(const struct spw_claims *c, const struct spw_claim *cl)
{
	return cl->job >= SPW_CLAIM_JOBS ||
	       atomic_load(&c->at->jobs[cl->job].gen) != cl->gen;
}

static bool
is_of(const struct spw_claim *cl, const struct spw_claim_self *self)
{
	return cl->job == self->job && cl->gen == self->gen;
}

static bool
is_for(const struct spw_claim *cl, const struct spw_file_id *id)
{
	return cl->ino == id->ino && cl->dev == id->dev;
}

/* Takes claims out of a chain: void ones, and that of one job on a file. */
static void
weed(struct spw_claims *c, struct chain *chain, _Atomic uint32_t *head,
     const struct spw_claim_self *self, const struct spw_file_id *id)
{
	_Atomic uint32_t *at = head;

	for (uint32_t n = chain->ready; n; n--) {
		uint32_t link = atomic_load(at);
		struct spw_claim *cl;

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
	r = spw_reserve(fd, g->off, STEP * sizeof(struct spw_claim));
	spw_sys_close(fd);
	return r;
}

static int
grow(const struct spw_claims *c, const struct chain *chain)
{
	struct spw_claim_stripe *s = chain->stripe;
	uint32_t ready = chain->ready;
	struct growth g = { c, (uint64_t)((char *)(chain->claims + ready) -
					  (char *)c->at) };
	int r;

	if (ready + STEP > SPW_CLAIM_MOST)
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
	struct spw_claim_stripe *s = chain->stripe;
	uint32_t link = atomic_load(&s->unused);
	int r = 0;

	for (int i = 0; !link && i < SPW_CLAIM_HEADS; i++)
		weed(c, chain, &s->heads[i], NULL, NULL);
	if (!link)
		link = atomic_load(&s->unused);
	if (!link)
		r = grow(c, chain);
	if (r < 0)
		return r;
	chain->ready = ready_of(s);
	link = atomic_load(&s->unused);
	if (link - 1 >= chain->ready)
		return -EBADMSG;
	atomic_store(&s->unused, atomic_load(&chain->claims[link - 1].next));
	return (int)link - 1;
}

/* Whether the job is in the chain, and how many others are. */
static bool
look_through(struct spw_claims *c, const struct chain *chain,
	     const struct spw_claim_self *self, const struct spw_file_id *id,
	     unsigned *ret_others)
{
	uint32_t link = atomic_load(chain->head);
	bool has = false;

	*ret_others = 0;
	for (uint32_t n = chain->ready; n && link - 1 < chain->ready; n--) {
		const struct spw_claim *cl = &chain->claims[link - 1];

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
add_claim(struct spw_claims *c, struct chain *chain,
	  const struct spw_claim_self *self, const struct spw_file_id *id)
{
	int at = new_claim(c, chain);
	struct spw_claim *cl;

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
is_job(const struct spw_claims *c, const struct spw_claim_self *self,
       uint32_t job)
{
	return job != self->job && atomic_load(&c->at->jobs[job].gen) & 1;
}

/* Others that may have any file of the stripe, in one word of the set. */
static uint64_t
others_at_large(const struct spw_claims *c, const struct chain *chain,
		const struct spw_claim_self *self, uint32_t word)
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
		  const struct spw_claim_self *self)
{
	for (uint32_t w = 0; w < SPW_CLAIM_JOBS / 64; w++)
		if (others_at_large(c, chain, self, w))
			return true;
	return false;
}

/* In place of a claim, where none can be made. */
static void
be_at_large(struct spw_claims *c, const struct chain *chain,
	    const struct spw_claim_self *self)
{
	if (self->job >= SPW_CLAIM_JOBS)
		return;
	atomic_fetch_or(&chain->stripe->at_large[self->job / 64],
			1ull << self->job % 64);
	atomic_fetch_add(&c->at->dropped, 1);
}

uint32_t
spw_claims_dropped(struct spw_map *map)
{
	struct spw_claims *c = spw_claimjob_table(map);

	return c ? atomic_load(&c->at->dropped) : 0;
}

int
spw_claim(struct spw_map *map, const struct spw_file_id *id, uint32_t dropped)
{
	struct spw_claims *c = spw_claimjob_table(map);
	struct spw_claim_self self = spw_claimjob_self(map);
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
	struct spw_claims *c = spw_claimjob_table(map);
	struct spw_claim_self self = spw_claimjob_self(map);
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
	const struct spw_claim_job *job = &c->at->jobs[no];
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
	   const struct spw_claim_self *self, const struct spw_file_id *id,
	   struct spw_claimant *list, unsigned max)
{
	uint32_t link = atomic_load(chain->head);
	unsigned n = 0;

	for (uint32_t i = chain->ready; i && link - 1 < chain->ready; i--) {
		const struct spw_claim *cl = &chain->claims[link - 1];

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
	      const struct spw_claim_self *self, struct spw_claimant *list,
	      unsigned max, unsigned n)
{
	for (uint32_t w = 0; w < SPW_CLAIM_JOBS / 64; w++) {
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
	struct spw_claim_self self = { SPW_CLAIM_JOBS, 0 };
	struct chain chain;
	unsigned n;

	if (map)
		self = spw_claimjob_self(map);
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
	const struct spw_claim_self its = { who->job, who->gen };
	struct chain chain;

	spw_claimjob_end(c, &its);
	if (open_chain(c, NULL, id, DROP_MS, &chain) < 0)
		return;
	if (chain.locked)
		weed(c, &chain, chain.head, NULL, NULL);
	(void)close_chain(&chain);
}
