/* SPDX-License-Identifier: BSD-3-Clause */
/* monitor.c -- keeps what tiers show of themselves */

#include "planner/monitor.h"
#include "shm/machine.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define FADE 0.97		/* what the past counts for, each transfer */
#define SMALL 4096.0		/* the two transfers that a line starts from */
#define LARGE 1048576.0
#define ALIKE 1e-3		/* spread of sizes, squared: none */
#define FAR 3.0			/* times what was expected, then it is cut */
#define BELIEVED 3		/* that often in a row, then it is believed */
#define BATCH 16u		/* transfers that are seen as one, at most */
#define FAILURES 3		/* in a row, then it is not available */
#define PAUSE_FIRST INT64_C(1000000000)
#define PAUSE_MOST (60 * PAUSE_FIRST)
#define MOVED 0.1		/* a change that is worth to be told */
#define QUEUE_MOVED 0.25
#define QUEUE_STEP 0.005		/* seconds */
#define FREE 0.125		/* of a tier costs nothing to keep */

/* Seconds over bytes, by least squares over sums that fade. */
struct line {
	double n, b, t, bb, bt;
	double latency, slope;		/* seconds, seconds a byte */
	int8_t run;			/* cut in a row, by side */
	bool guessed;			/* nothing was measured so far */
};

/* Transfers that were under way together. */
struct batch {
	struct line before;		/* any of them was over */
	int64_t ended;			/* the first of them */
	unsigned n;
	double bytes, seconds;
};

struct tier {
	char *dir;
	uint64_t capacity, held;
	uint64_t space;			/* of its file system */
	int64_t asked;			/* when space was */
	double queue;
	unsigned failures;
	int64_t pause, again;		/* not available before */
	struct line line[2];
	struct batch batch[2];
	int64_t ended[2];		/* the last transfer */
};

struct spw_monitor {
	size_t n;
	struct tier tier[SPW_CHOOSE_TIERS];
	struct spw_tier_state shown[SPW_CHOOSE_TIERS];
};

struct spw_monitor *
spw_monitor_new(void)
{
	return calloc(1, sizeof(struct spw_monitor));
}

void
spw_monitor_free(struct spw_monitor *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++)
		free(m->tier[i].dir);
	free(m);
}

/* The line of all transfers so far.  Where they are all of one size, latency
 * and bandwidth cannot be told apart, and the latency stays.  Should they say
 * that more bytes take less time, or that nothing takes less than no time,
 * the line goes through the origin.
 */
static void
fit(struct line *l)
{
	double det = l->n * l->bb - l->b * l->b;

	if (det < ALIKE * l->n * l->bb) {
		l->latency = SPW_MIN(l->latency, 0.5 * l->t / l->n);
		l->slope = (l->t - l->latency * l->n) / l->b;
		return;
	}
	l->slope = (l->n * l->bt - l->b * l->t) / det;
	l->latency = (l->t - l->slope * l->b) / l->n;
	if (!(l->slope > 0) || !(l->latency >= 0)) {
		l->slope = l->t / l->b;
		l->latency = 0;
	}
}

static void
add(struct line *l, double bytes, double seconds, double fade)
{
	l->n = fade * l->n + 1;
	l->b = fade * l->b + bytes;
	l->t = fade * l->t + seconds;
	l->bb = fade * l->bb + bytes * bytes;
	l->bt = fade * l->bt + bytes * seconds;
}

/* Two transfers as we were told them to be. */
static void
start(struct line *l, double bw, double latency)
{
	add(l, SMALL, latency + SMALL / bw, 1);
	add(l, LARGE, latency + LARGE / bw, 1);
	l->latency = latency;
	l->slope = 1 / bw;
}

static bool
is_bandwidth(double bw)
{
	return bw >= 1 && bw <= 1e15;
}

int
spw_monitor_add(struct spw_monitor *m, const struct spw_monitored *tier)
{
	struct tier *t = &m->tier[m->n];

	if (m->n == SPW_CHOOSE_TIERS)
		return -ENOSPC;
	if (!is_bandwidth(tier->write_bw) || !is_bandwidth(tier->read_bw) ||
	    !(tier->latency >= 0 && tier->latency <= 3600))
		return -EINVAL;
	*t = (struct tier){ .capacity = tier->capacity, .asked = INT64_MIN };
	if (tier->dir && !(t->dir = strdup(tier->dir)))
		return -ENOMEM;
	t->space = UINT64_MAX;
	start(&t->line[SPW_MONITOR_WRITE], tier->write_bw, tier->latency);
	start(&t->line[SPW_MONITOR_READ], tier->read_bw, tier->latency);
	t->line[SPW_MONITOR_WRITE].guessed = tier->guessed;
	t->line[SPW_MONITOR_READ].guessed = tier->guessed;
	m->shown[m->n] = (struct spw_tier_state){ .choices = tier->choices };
	return (int)m->n++;
}

void
spw_monitor_queue(struct spw_monitor *m, unsigned tier, uint64_t bytes)
{
	m->tier[tier].queue += (double)bytes;
}

void
spw_monitor_leave(struct spw_monitor *m, unsigned tier, uint64_t bytes)
{
	struct tier *t = &m->tier[tier];

	t->queue = SPW_MAX(0, t->queue - (double)bytes);
}

/* One transfer in a storm does not make a tier slow.  One that is next to
 * nothing does not say how fast it is.
 */
static void
learn(struct line *l, double bytes, double seconds)
{
	double expected = l->latency + bytes * l->slope;
	double least = expected / FAR, most = expected * FAR;
	int side = seconds > most ? 1 : seconds < least ? -1 : 0;

	if (bytes >= SMALL)
		l->run = (int8_t)(l->run * side > 0 ? l->run + side : side);
	if (bytes >= SMALL && abs(l->run) >= BELIEVED) {
		*l = (struct line){ 0 };
		add(l, SMALL, seconds * SMALL / bytes, 1);
		add(l, LARGE, seconds * LARGE / bytes, 1);
	} else if (side) {
		seconds = side > 0 ? most : least;
	}
	l->guessed = false;
	add(l, bytes, seconds, FADE);
	fit(l);
}

/* A tier may work on several at a time, and then they are over at one stroke:
 * each of those that were under way together took its share of the time.
 */
static void
learn_share(struct tier *t, enum spw_monitor_way way, uint64_t bytes,
	    int64_t began, int64_t took)
{
	struct batch *g = &t->batch[way];
	struct line *l = &t->line[way];

	if (!g->n || g->n == BATCH || began >= g->ended)
		*g = (struct batch){ .before = *l, .ended = t->ended[way] };
	else
		*l = g->before;
	g->n++;
	g->bytes += (double)bytes;
	g->seconds += 1e-9 * (double)took;
	learn(l, g->bytes / g->n, g->seconds / g->n);
}

static void
fail(struct tier *t, int64_t now, int error)
{
	if (error == -ENOSPC || error == -EDQUOT) {
		t->space = 0;		/* until it is asked again */
		t->asked = now;
		return;
	}
	if (++t->failures < FAILURES)
		return;
	t->pause = t->pause ? SPW_MIN(2 * t->pause, PAUSE_MOST) : PAUSE_FIRST;
	t->again = now + t->pause;
	t->failures = FAILURES - 1;	/* one more is enough */
}

void
spw_monitor_done(struct spw_monitor *m, unsigned tier,
		 enum spw_monitor_way way, uint64_t bytes, int64_t began,
		 int64_t ended, int error)
{
	struct tier *t = &m->tier[tier];
	int64_t took = ended - SPW_MAX(began, t->ended[way]);

	if (way == SPW_MONITOR_WRITE)
		spw_monitor_leave(m, tier, bytes);
	t->ended[way] = SPW_MAX(t->ended[way], ended);
	if (error) {
		fail(t, ended, error);
		return;
	}
	t->failures = 0;
	t->pause = 0;
	t->again = INT64_MIN;
	if (bytes && took > 0)
		learn_share(t, way, bytes, began, took);
}

void
spw_monitor_hold(struct spw_monitor *m, unsigned tier, uint64_t bytes)
{
	struct tier *t = &m->tier[tier];

	t->held += SPW_MIN(bytes, UINT64_MAX - t->held);
	if (t->space != UINT64_MAX)
		t->space -= SPW_MIN(bytes, t->space);
}

void
spw_monitor_release(struct spw_monitor *m, unsigned tier, uint64_t bytes)
{
	struct tier *t = &m->tier[tier];

	t->held -= SPW_MIN(bytes, t->held);
	if (t->space < UINT64_MAX - bytes)
		t->space += bytes;
}

/* A directory that cannot be asked has no room until it can. */
static uint64_t
free_of(struct tier *t, int64_t now)
{
	uint64_t left = t->capacity == UINT64_MAX ? UINT64_MAX :
			t->capacity - SPW_MIN(t->held, t->capacity);

	if (t->dir && (t->asked == INT64_MIN ||
		       now - t->asked >= SPW_MONITOR_EVERY)) {
		if (spw_machine_space(t->dir, &t->space) < 0)
			t->space = 0;
		t->asked = now;
	}
	return SPW_MIN(left, t->space);
}

/* The new figure if it is far enough from the one shown. */
static double
step(double shown, double now, double moved)
{
	return fabs(now - shown) > moved * shown ? now : shown;
}

/* Seconds a byte that a tier is believed to take. */
static double
slope_of(const struct spw_monitor *m, size_t i, enum spw_monitor_way way)
{
	double slope = m->tier[i].line[way].slope;

	for (; i && m->tier[i].line[way].guessed; i--)
		slope = SPW_MAX(slope, m->tier[i - 1].line[way].slope);
	return slope;
}

/* The fuller a tier, the surer it is that a byte kept here makes another one
 * go to the next tier: it is to pay the difference.  What fits in an eighth
 * is for free.
 */
static double
price_of(const struct spw_monitor *m, size_t i)
{
	const struct tier *t = &m->tier[i];
	double fill = (double)t->held / (double)t->capacity, more;

	if (t->capacity == UINT64_MAX || fill <= FREE || i + 1 == m->n)
		return 0;
	more = slope_of(m, i + 1, SPW_MONITOR_WRITE) -
	       slope_of(m, i, SPW_MONITOR_WRITE);
	fill = (SPW_MIN(fill, 1) - FREE) / (1 - FREE);
	return more > 0 ? fill * (2 - fill) * more : 0;
}

static void
show(struct spw_monitor *m, size_t i, int64_t now)
{
	struct tier *t = &m->tier[i];
	struct spw_tier_state *s = &m->shown[i];
	double put = slope_of(m, i, SPW_MONITOR_WRITE);

	s->available = t->failures < FAILURES - 1 || now >= t->again;
	s->free = free_of(t, now);
	s->write_bw = step(s->write_bw, 1 / put, MOVED);
	s->read_bw = step(s->read_bw, 1 / slope_of(m, i, SPW_MONITOR_READ),
			  MOVED);
	s->latency = step(s->latency, t->line[SPW_MONITOR_WRITE].latency,
			  MOVED);
	s->price = step(s->price, price_of(m, i), MOVED);
	if (fabs(t->queue - s->queue) * put >= QUEUE_STEP ||
	    t->queue <= 0)
		s->queue = step(s->queue, t->queue, QUEUE_MOVED);
}

const struct spw_tier_state *
spw_monitor_state(struct spw_monitor *m, int64_t now, size_t *ret_n)
{
	for (size_t i = 0; i < m->n; i++)
		show(m, i, now);
	*ret_n = m->n;
	return m->shown;
}
