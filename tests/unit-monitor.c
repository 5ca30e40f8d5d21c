/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-monitor.c -- tiers are seen as fast, full and absent as they are */

#include "planner/monitor.h"
#include "tests/guarded.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

static uint64_t state = 5;
static int64_t clock_ns = 1000 * SECOND;

static const struct spw_monitored plain = {
	.capacity = UINT64_MAX, .choices = SPW_CHOICES_ALL, .write_bw = 1e9,
	.read_bw = 2e9, .latency = 1e-4,
};

static struct spw_monitor *
one_tier(const struct spw_monitored *tier)
{
	struct spw_monitor *m = spw_monitor_new();

	CHECK(m && spw_monitor_add(m, tier) == 0);
	return m;
}

static const struct spw_tier_state *
state_of(struct spw_monitor *m)
{
	size_t n;
	const struct spw_tier_state *s = spw_monitor_state(m, clock_ns, &n);

	CHECK(n >= 1);
	return s;
}

/* A transfer that takes so many seconds, after a pause. */
static void
transfer(struct spw_monitor *m, enum spw_monitor_way way, uint64_t bytes,
	 double seconds)
{
	int64_t began = clock_ns += SECOND / 100;

	clock_ns += (int64_t)(1e9 * seconds);
	spw_monitor_done(m, 0, way, bytes, began, clock_ns, 0);
}

static bool
is_near(double is, double wanted, double off)
{
	return fabs(is / wanted - 1) <= off;
}

static void
test_speed(void)
{
	struct spw_monitor *m = one_tier(&plain);
	const struct spw_tier_state *s = state_of(m);

	CHECK(s->available && s->free == UINT64_MAX && s->queue == 0);
	CHECK(is_near(s->write_bw, 1e9, 1e-9) && s->latency == 1e-4);
	for (int i = 0; i < 300; i++) {
		uint64_t bytes = 4096 << draw(&state) % 9;
		double off = 0.9 + 0.2 * (double)(draw(&state) % 1000) / 1000;

		transfer(m, SPW_MONITOR_WRITE, bytes,
			 (5e-4 + (double)bytes / 2e8) * off);
		transfer(m, SPW_MONITOR_READ, bytes,
			 (5e-4 + (double)bytes / 4e8) * off);
		if (i % 25 == 24)		/* the machine was away */
			transfer(m, SPW_MONITOR_WRITE, bytes, 3);
	}
	s = state_of(m);
	printf("write %.0f MB/s, read %.0f MB/s, %.0f us\n",
	       s->write_bw / 1e6, s->read_bw / 1e6, s->latency * 1e6);
	CHECK(is_near(s->write_bw, 2e8, 0.25));
	CHECK(is_near(s->read_bw, 4e8, 0.25));
	CHECK(is_near(s->latency, 5e-4, 0.7));
	spw_monitor_free(m);
}

/* For ever the same size: the time of that size is right, and stays so. */
static void
test_one_size(void)
{
	struct spw_monitor *m = one_tier(&plain);
	const struct spw_tier_state *s;

	for (int i = 0; i < 5000; i++) {
		transfer(m, SPW_MONITOR_WRITE, 1 << 20, 0.004);
		s = state_of(m);
		CHECK(i < 200 ||
		      is_near(s->latency + (1 << 20) / s->write_bw, 0.004,
			      0.2));
	}
	spw_monitor_free(m);
}

/* Four at a time at 400 MB/s in all. */
static void
test_overlap(void)
{
	struct spw_monitor *m = one_tier(&plain);
	int64_t each = (int64_t)(1e9 * (1 << 20) / 4e8);

	for (int64_t i = 4; i < 400; i++)
		spw_monitor_done(m, 0, SPW_MONITOR_WRITE, 1 << 20,
				 clock_ns + (i - 4) * each,
				 clock_ns + i * each, 0);
	clock_ns += 400 * each;
	CHECK(is_near(state_of(m)->write_bw, 4e8, 0.15));
	spw_monitor_free(m);
}

/* The same, where the four end at one stroke, as far as one can see, and with
 * them some that are next to nothing.
 */
static void
test_stroke(void)
{
	struct spw_monitor *m = one_tier(&plain);
	int64_t each = (int64_t)(1e9 * (1 << 20) / 4e8);
	const struct spw_tier_state *s;

	for (int i = 0; i < 100; i++) {
		int64_t began = clock_ns;

		clock_ns += 4 * each;
		for (int k = 0; k < 8; k++)
			spw_monitor_done(m, 0, SPW_MONITOR_WRITE,
					 k % 2 ? 300 : 1 << 20, began,
					 clock_ns + k * 1000, 0);
		clock_ns += 8000;
	}
	s = state_of(m);
	CHECK(is_near(s->latency + (1 << 19) / s->write_bw,
		      (1 << 19) / 4e8, 0.2));
	spw_monitor_free(m);
}

/* It became a hundred times slower: believed after some transfers. */
static void
test_change(void)
{
	struct spw_monitor *m = one_tier(&plain);

	for (int i = 0; i < 50; i++)
		transfer(m, SPW_MONITOR_WRITE, 1 << 20, 0.001);
	for (int i = 0; i < 6; i++)
		transfer(m, SPW_MONITOR_WRITE, 1 << 20, 0.1);
	CHECK(is_near(state_of(m)->write_bw, 1e7, 0.3));
	spw_monitor_free(m);
}

/* Small moves are not published. */
static void
test_steps(void)
{
	struct spw_monitor *m = one_tier(&plain);
	struct spw_tier_state before = *state_of(m);

	for (int i = 0; i < 300; i++) {
		double off = 0.97 + 0.06 * (double)(draw(&state) % 1000) / 1000;
		uint64_t bytes = 65536 << draw(&state) % 5;

		transfer(m, SPW_MONITOR_WRITE, bytes,
			 (1e-4 + (double)bytes / 1e9) * off);
		CHECK(state_of(m)->write_bw == before.write_bw);
	}
	spw_monitor_queue(m, 0, 100 << 20);
	CHECK(state_of(m)->queue == 100 << 20);
	spw_monitor_queue(m, 0, 3 << 20);
	CHECK(state_of(m)->queue == 100 << 20);
	spw_monitor_done(m, 0, SPW_MONITOR_WRITE, 103 << 20, clock_ns,
			 clock_ns + SECOND / 10, 0);
	CHECK(state_of(m)->queue == 0);
	spw_monitor_free(m);
}

/* What a slow tier has queued counts, however few bytes: they take long. */
static void
test_slow_queue(void)
{
	struct spw_monitored slow = plain;
	struct spw_monitor *m;

	slow.write_bw = 6e6;
	m = one_tier(&slow);
	spw_monitor_queue(m, 0, 600000);
	CHECK(state_of(m)->queue == 600000);
	spw_monitor_leave(m, 0, 600000);
	CHECK(state_of(m)->queue == 0);
	spw_monitor_free(m);
}

static void
test_failures(void)
{
	struct spw_monitor *m = one_tier(&plain);
	int64_t pause = SECOND;

	for (int i = 0; i < 3; i++) {
		CHECK(state_of(m)->available);
		spw_monitor_done(m, 0, SPW_MONITOR_WRITE, 4096, clock_ns,
				 clock_ns, -EIO);
	}
	for (int i = 0; i < 10; i++) {
		CHECK(!state_of(m)->available);
		clock_ns += pause - 1;
		CHECK(!state_of(m)->available);
		clock_ns += 1;
		CHECK(state_of(m)->available);
		spw_monitor_done(m, 0, SPW_MONITOR_WRITE, 4096, clock_ns,
				 clock_ns, -EIO);
		pause = SPW_MIN(2 * pause, 60 * SECOND);
	}
	clock_ns += pause;
	transfer(m, SPW_MONITOR_WRITE, 4096, 1e-4);
	CHECK(state_of(m)->available);
	spw_monitor_done(m, 0, SPW_MONITOR_WRITE, 4096, clock_ns, clock_ns,
			 -EIO);
	CHECK(state_of(m)->available);		/* it has to fail anew */
	spw_monitor_free(m);
}

static void
test_space(void)
{
	char dir[] = "unit-monitor-XXXXXX";
	struct spw_monitored tier = plain;
	struct spw_monitor *m;
	uint64_t space;

	CHECK(mkdtemp(dir));
	tier.dir = dir;
	tier.capacity = 1 << 20;
	m = one_tier(&tier);
	CHECK(state_of(m)->free <= 1 << 20);
	spw_monitor_hold(m, 0, 700 << 10);
	CHECK(state_of(m)->free <= 324 << 10);
	spw_monitor_hold(m, 0, 1 << 20);
	CHECK(state_of(m)->free == 0);
	spw_monitor_release(m, 0, UINT64_MAX);
	CHECK(state_of(m)->free <= 1 << 20);
	spw_monitor_free(m);

	tier.capacity = UINT64_MAX;
	m = one_tier(&tier);
	space = state_of(m)->free;
	CHECK(space > 0 && space < UINT64_MAX);
	CHECK(!rmdir(dir));			/* not noticed at once */
	CHECK(state_of(m)->free == space);
	clock_ns += SPW_MONITOR_EVERY;
	CHECK(state_of(m)->free == 0);
	spw_monitor_free(m);

	tier.dir = ".";				/* it says it is full */
	m = one_tier(&tier);
	CHECK(state_of(m)->free > 0);
	spw_monitor_done(m, 0, SPW_MONITOR_WRITE, 4096, clock_ns, clock_ns,
			 -ENOSPC);
	CHECK(state_of(m)->free == 0 && state_of(m)->available);
	clock_ns += SPW_MONITOR_EVERY;
	CHECK(state_of(m)->free > 0);
	spw_monitor_free(m);
}

/* An eighth is for free; a full one costs what the next one charges more. */
static void
test_price(void)
{
	struct spw_monitored tier = plain, slower = plain;
	struct spw_monitor *m;

	tier.capacity = 1000;
	slower.write_bw = plain.write_bw / 3;
	m = one_tier(&tier);
	CHECK(spw_monitor_add(m, &slower) == 1);
	spw_monitor_hold(m, 0, 125);
	CHECK(state_of(m)->price == 0);
	spw_monitor_hold(m, 0, 437);
	CHECK(is_near(state_of(m)->price, 1.5 / plain.write_bw, 0.01));
	spw_monitor_hold(m, 0, 438);
	CHECK(is_near(state_of(m)->price, 2 / plain.write_bw, 1e-6));
	CHECK(state_of(m)[1].price == 0);
	spw_monitor_free(m);
}

static void
test_refused(void)
{
	struct spw_monitored bad[5] = { plain, plain, plain, plain, plain };
	struct spw_monitor *m = spw_monitor_new();

	CHECK(m);
	bad[0].write_bw = 0;
	bad[1].read_bw = NAN;
	bad[2].latency = -1;
	bad[3].latency = INFINITY;
	bad[4].write_bw = INFINITY;
	for (int i = 0; i < 5; i++)
		CHECK(spw_monitor_add(m, &bad[i]) == -EINVAL);
	for (int i = 0; i < SPW_CHOOSE_TIERS; i++)
		CHECK(spw_monitor_add(m, &plain) == i);
	CHECK(spw_monitor_add(m, &plain) == -ENOSPC);
	spw_monitor_free(m);
	spw_monitor_free(NULL);
}

/* Nobody knows how fast the second is; the first is slow. Then it is no
 * faster, until it shows. One that was measured is what it is. */
static void
test_guess(void)
{
	struct spw_monitored guess = plain;
	struct spw_monitor *m = one_tier(&plain);

	guess.guessed = true;
	CHECK(spw_monitor_add(m, &guess) == 1);
	CHECK(spw_monitor_add(m, &plain) == 2);
	CHECK(is_near(state_of(m)[1].write_bw, 1e9, 0.01));
	for (int i = 0; i < 8; i++)
		transfer(m, SPW_MONITOR_WRITE, 1 << 20, 0.05);
	CHECK(is_near(state_of(m)[0].write_bw, 20e6, 0.1));
	CHECK(is_near(state_of(m)[1].write_bw, 20e6, 0.1));
	CHECK(is_near(state_of(m)[1].read_bw, 2e9, 0.01));
	CHECK(is_near(state_of(m)[2].write_bw, 1e9, 0.01));
	for (int i = 0; i < 8; i++, clock_ns += SECOND)
		spw_monitor_done(m, 1, SPW_MONITOR_WRITE, 1 << 20, clock_ns,
				 clock_ns + SECOND / 400, 0);
	CHECK(is_near(state_of(m)[1].write_bw, 420e6, 0.2));
	spw_monitor_free(m);
}

/* What it publishes is what the chooser takes. */
static void
test_chosen(void)
{
	struct spw_chooser *ch = spw_choose_new();
	struct spw_monitor *m = one_tier(&plain);
	size_t n;

	CHECK(ch && !spw_choose_tiers(ch, spw_monitor_state(m, clock_ns, &n),
				      1));
	spw_monitor_free(m);
	spw_choose_free(ch);
}

int
main(void)
{
	test_speed();
	test_one_size();
	test_overlap();
	test_stroke();
	test_change();
	test_steps();
	test_slow_queue();
	test_failures();
	test_space();
	test_price();
	test_refused();
	test_guess();
	test_chosen();
	return 0;
}
