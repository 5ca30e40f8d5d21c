/* SPDX-License-Identifier: BSD-3-Clause */
/* claimjobs.c -- jobs enter the table of claims, and leave it */
#include "shm/claimtable.h"

#include <errno.h>
#include <stddef.h>

#include "shm/failpoint.h"
#include "shm/sys.h"
#include "shm/text.h"

/* Numbers of files come again, times of creation do not. */
static bool
is_another(int fd, const struct spw_claim_job *job)
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
is_gone(const struct spw_claims *c, const struct spw_claim_job *job)
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

struct spw_claim_self
spw_claimjob_self(const struct spw_map *map)
{
	uint64_t claims = atomic_load(&map->seg->claims);

	return (struct spw_claim_self){ (uint32_t)claims - 1,
			      (uint32_t)(claims >> 32) };
}

void
spw_claimjob_end(struct spw_claims *c, const struct spw_claim_self *self)
{
	struct spw_claim_job *job = &c->at->jobs[self->job];
	uint32_t gen = self->gen;

	atomic_fetch_add(&c->at->dropped, 1);
	if (atomic_compare_exchange_strong(&job->gen, &gen, gen + 1))
		atomic_store(&job->taken, 0);
}

static void
forget_gone(struct spw_claims *c)
{
	for (uint32_t i = 0; i < SPW_CLAIM_JOBS; i++) {
		const struct spw_claim_job *job = &c->at->jobs[i];
		struct spw_claim_self it = { i, atomic_load(&job->gen) };

		if (it.gen & 1 && is_gone(c, job))
			spw_claimjob_end(c, &it);
	}
}

static bool
is_entry_of(const struct spw_claims *c, const struct spw_claim_self *self,
	    const struct spw_map *map)
{
	const struct spw_claim_job *job;

	if (self->job >= SPW_CLAIM_JOBS || !(self->gen & 1))
		return false;
	job = &c->at->jobs[self->job];
	return job->ino == map->ino && job->created == map->fixed.created &&
	       atomic_load(&job->gen) == self->gen;
}

static bool
find_entry(const struct spw_claims *c, const struct spw_map *map,
	   struct spw_claim_self *ret)
{
	for (uint32_t i = 0; i < SPW_CLAIM_JOBS; i++) {
		ret->job = i;
		ret->gen = atomic_load(&c->at->jobs[i].gen);
		if (is_entry_of(c, ret, map))
			return true;
	}
	return false;
}

static bool
take_unused(struct spw_claims *c, uint32_t *ret_job)
{
	for (uint32_t i = 0; i < SPW_CLAIM_JOBS; i++) {
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
	for (int i = 0; i < SPW_CLAIM_STRIPES; i++)
		atomic_fetch_and(&c->at->stripes[i].at_large[job / 64],
				 ~(1ull << job % 64));
}

/* Who dies before it counts has taken it for as long as there is the table. */
static int
add_job(struct spw_claims *c, const struct spw_map *map,
	struct spw_claim_self *ret)
{
	struct spw_text name;
	struct spw_claim_job *job;

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
	struct spw_claim_self self = spw_claimjob_self(map);
	int r;

	if (is_entry_of(c, &self, map))
		return 0;
	r = find_entry(c, map, &self) ? 0 : add_job(c, map, &self);
	if (r < 0)
		return r;
	if (atomic_load(&c->at->gone)) {
		spw_claimjob_end(c, &self);
		return -EAGAIN;
	}
	if (atomic_compare_exchange_strong(&map->seg->claims, &was,
			(uint64_t)self.gen << 32 | (self.job + 1)) ||
	    was == ((uint64_t)self.gen << 32 | (self.job + 1)))
		return 0;
	spw_claimjob_end(c, &self);		/* somebody was faster */
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

struct spw_claims *
spw_claimjob_table(struct spw_map *map)
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

void
spw_claims_part(struct spw_map *map)
{
	struct spw_claims *c = spw_claimjob_table(map);
	struct spw_claim_self self;

	if (!c)
		return;
	if (find_entry(c, map, &self))
		spw_claimjob_end(c, &self);
	forget_gone(c);
	spw_claimtable_remove_unused(c);
}
