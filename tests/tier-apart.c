/* SPDX-License-Identifier: BSD-3-Clause */
/* tier-apart.c -- who carries out orders to a tier, and what is told of them;
 * drops that fail are not forgotten */

#include <errno.h>
#include <pthread.h>

#include "shm/util.h"
#include "tests/guarded.h"
#include "tests/tier-kit.h"
#include "tiers/apart.h"

enum { PUTS = 4, RAW = 5000, LATE_US = 1000000, CAPACITY = 64 << 20 };

static struct spw_tier_ops faulty;	/* bb, but for its drop */
static _Atomic int failing;

static int
drop(struct spw_tier *tier, uint64_t place)
{
	return failing-- > 0 ? -EIO
			     : spw_tier_by_kind("bb")->drop(tier, place);
}

static int
sync_now(struct spw_apart *a, struct spw_bell *b)
{
	int r;

	CHECK(spw_apart_sync(a, (struct spw_apart_then){ 0 }));
	while ((r = spw_apart_synced(a)) == -EINPROGRESS)
		spw_bell_wait(b, 1000);
	return r;
}

static int
count(void *arg, const struct spw_tier_found *f)
{
	(void)f;
	++*(unsigned *)arg;
	return 0;
}

static unsigned
objects(struct spw_apart *a)
{
	unsigned n = 0;

	CHECK(!spw_apart_list(a, SPW_APART_MS, count, &n));
	return n;
}

/* A transfer says when it was over, however late one looks. */
static void
tell_when(struct spw_apart *a, struct spw_transfer *put)
{
	int64_t began = spw_now_ns(), before;
	unsigned seen = 0;

	for (unsigned i = 0; i < PUTS; i++) {
		put[i].buf = kit_buffer();
		put[i].len = kit_make(put[i].buf, i + 1, RAW);
		spw_apart_move(a, &put[i], false);
	}
	usleep(LATE_US);
	before = spw_now_ns() - LATE_US / 2 * INT64_C(1000);
	for (struct spw_transfer *x; (x = spw_apart_reap(a)); seen++) {
		CHECK(!x->err && x->ended > began && x->ended < before);
		free(x->buf);
	}
	CHECK(seen == PUTS);
}

/* Two drops fail, one of them again when it is tried with a sync. */
static void
drop_again(struct spw_apart *a, struct spw_bell *b,
	   const struct spw_transfer *put)
{
	CHECK(!sync_now(a, b) && objects(a) == PUTS);
	failing = 3;
	spw_apart_drop(a, put[0].place);
	spw_apart_drop(a, put[1].place);
	CHECK(sync_now(a, b) == -EIO && objects(a) == PUTS - 1);
	CHECK(!sync_now(a, b) && objects(a) == PUTS - 2);
}

static void
orders_are_carried_out(struct spw_bell *b)
{
	char *dir = kit_directory("."), *place = realpath(dir, NULL);
	struct spw_tier_setup setup = {
		.place = place, .owner = "apart", .create = true,
		.capacity = CAPACITY,
	};
	struct spw_transfer put[PUTS] = { { .up = false } };
	struct spw_apart *a;

	faulty = *spw_tier_by_kind("bb");
	faulty.drop = drop;
	CHECK(place);
	CHECK(!spw_apart_open(b, &faulty, &setup, SPW_APART_MS, &a));
	tell_when(a, put);
	drop_again(a, b, put);
	CHECK(!spw_apart_close(a, true));
	free(place);
	kit_remove(dir);
}

/* A tier that does as it is told here. */
static struct spw_tier tier = { .lock = -1 };
static struct spw_transfer *kept;
static int put_err, sync_err;
static bool prompt;
static _Atomic bool holds;
static pthread_t put_by, sync_by;

static int
fake_open(const struct spw_tier_setup *setup, struct spw_tier **ret_tier)
{
	(void)setup;
	*ret_tier = &tier;
	return 0;
}

static int
fake_submit(struct spw_tier *t, struct spw_transfer *x)
{
	(void)t;
	put_by = pthread_self();
	x->err = put_err;
	x->next = kept;
	kept = x;
	return 0;
}

static struct spw_transfer *
fake_reap(struct spw_tier *t, bool wait)
{
	struct spw_transfer *x = kept;

	(void)t;
	if (holds) {
		usleep(wait ? 1000 : 0);
		return NULL;
	}
	if (x)
		kept = x->next;
	return x;
}

static bool
fake_is_prompt(const struct spw_tier *t)
{
	(void)t;
	return prompt;
}

static int
fake_sync(struct spw_tier *t)
{
	(void)t;
	sync_by = pthread_self();
	return sync_err;
}

static void
fake_space(struct spw_tier *t, struct spw_tier_space *ret_space)
{
	(void)t;
	*ret_space = (struct spw_tier_space){ .capacity = CAPACITY };
}

static int
fake_close(struct spw_tier *t, bool discard)
{
	(void)t;
	(void)discard;
	return 0;
}

static const struct spw_tier_ops fake = {
	.kind = "fake", .open = fake_open, .submit = fake_submit,
	.reap = fake_reap, .is_prompt = fake_is_prompt, .sync = fake_sync,
	.sync_waits = true, .space = fake_space, .close = fake_close,
};

static unsigned answers;

static uint32_t
answer(void *arg)
{
	CHECK(!pthread_equal(pthread_self(), *(pthread_t *)arg));
	answers++;
	return 0;			/* nobody sleeps */
}

/* A put and a sync that end like that: whether the thread answered. */
static bool
answers_after(struct spw_bell *b, struct spw_apart *a, int put, int sync)
{
	pthread_t me = pthread_self();
	const struct spw_apart_then then = { answer, NULL, &me };
	struct spw_transfer x = { .len = 1 };
	unsigned before = answers;
	bool done;

	put_err = put;
	sync_err = sync;
	spw_apart_move(a, &x, true);
	CHECK(spw_apart_sync(a, then));
	while (spw_apart_synced(a) == -EINPROGRESS)
		spw_bell_wait(b, SPW_APART_MS);
	CHECK(spw_apart_synced(a) == sync);
	done = spw_apart_recall(a);
	CHECK(answers == before + done);
	CHECK(spw_apart_reap(a) == &x && x.err == put && !spw_apart_reap(a));
	CHECK(!spw_apart_recall(a));
	return done;
}

/* The thread of a tier answers for it, if all is well and no sooner. */
static void
good_syncs_are_answered(struct spw_bell *b, struct spw_apart *a)
{
	CHECK(answers_after(b, a, 0, 0));
	CHECK(!answers_after(b, a, -EIO, 0));
	(void)answers_after(b, a, 0, 0);	/* who knows whose it was */
	CHECK(answers_after(b, a, 0, 0));
	CHECK(!answers_after(b, a, 0, -EIO));
	CHECK(answers_after(b, a, 0, 0));
	CHECK(!pthread_equal(put_by, pthread_self()) &&
	      !pthread_equal(sync_by, pthread_self()));
}

static _Atomic bool is_back;		/* who gave the order */
static _Atomic uint32_t told;

static uint32_t
answer_some(void *arg)
{
	return *(uint32_t *)arg;
}

static void
tell_some(void *arg, uint32_t whom)
{
	CHECK(whom == *(uint32_t *)arg);
	for (int i = 0; i < 10000 && !is_back; i++)
		usleep(100);
	told = whom;
}

/* To wake many takes its time: who gave the order does not wait for it. */
static void
telling_holds_up_nobody(struct spw_bell *b, struct spw_apart *a)
{
	for (uint32_t whom = 1; whom < 4; whom++) {
		const struct spw_apart_then then = { answer_some, tell_some,
						     &whom };

		is_back = false;
		CHECK(spw_apart_sync(a, then));
		while (spw_apart_synced(a) == -EINPROGRESS)
			spw_bell_wait(b, SPW_APART_MS);
		CHECK(spw_apart_recall(a) && !spw_apart_recall(a));
		CHECK(told != whom);
		is_back = true;
		while (told != whom)
			usleep(100);
	}
}

/* Orders that are expected come soon, late or never; so do others. */
static void
expected_orders_are_heard(struct spw_bell *b, struct spw_apart *a)
{
	for (int i = 0; i < 100; i++) {
		spw_apart_expect(a);
		if (i % 2)
			usleep((unsigned)i * 10);
		if (i % 3)
			CHECK(answers_after(b, a, 0, 0));
	}
}

/* A tier that waits for nothing is called by who gives the orders, once its
 * thread has nothing to do. */
static void
memory_is_written_at_once(struct spw_apart *a)
{
	struct spw_transfer x = { .len = 1 };
	bool mine = false;

	put_err = sync_err = 0;
	prompt = true;
	while (!mine) {
		spw_apart_move(a, &x, false);
		while (!spw_apart_reap(a))
			usleep(1000);
		mine = pthread_equal(put_by, pthread_self());
	}
	CHECK(spw_apart_sync(a, (struct spw_apart_then){ 0 }));
	CHECK(spw_apart_synced(a) == 0);
	CHECK(pthread_equal(sync_by, pthread_self()));
}

/* That times can be set says nothing of what it was given. */
static void
stamps_are_no_sign_of_life(struct spw_apart *a)
{
	struct spw_transfer x = { .len = 1 };

	prompt = false;
	holds = true;
	spw_apart_move(a, &x, false);
	for (int i = 0; i < 300 && spw_apart_patience(a); i++) {
		spw_apart_stamp(a);
		usleep(100000);
	}
	CHECK(spw_apart_patience(a) == 0);
	holds = false;
	while (!spw_apart_reap(a))
		usleep(1000);
}

int
main(void)
{
	const struct spw_tier_setup setup = { .capacity = CAPACITY };
	struct spw_apart *a;
	struct spw_bell *b;

	CHECK(!spw_bell_new(NULL, NULL, &b));
	orders_are_carried_out(b);
	CHECK(!spw_apart_open(b, &fake, &setup, SPW_APART_MS, &a));
	good_syncs_are_answered(b, a);
	telling_holds_up_nobody(b, a);
	expected_orders_are_heard(b, a);
	memory_is_written_at_once(a);
	stamps_are_no_sign_of_life(a);
	CHECK(!spw_apart_close(a, true));
	spw_bell_free(b);
	return 0;
}
