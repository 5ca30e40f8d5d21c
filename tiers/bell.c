/* SPDX-License-Identifier: BSD-3-Clause */
/* bell.c -- what all who work for a drainer ring when they have something */

#include "tiers/apart-parts.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

int
spw_bell_new(void (*told)(void *arg), void *arg, struct spw_bell **ret_bell)
{
	struct spw_bell *b = calloc(1, sizeof(*b));
	pthread_condattr_t attr;

	if (!b)
		return -ENOMEM;
	pthread_mutex_init(&b->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&b->rung, &attr);
	pthread_condattr_destroy(&attr);
	b->told = told;
	b->arg = arg;
	*ret_bell = b;
	return 0;
}

void
spw_bell_free(struct spw_bell *b)
{
	if (!b)
		return;
	pthread_cond_destroy(&b->rung);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

void
spw_bell_wait(struct spw_bell *b, int64_t ms)
{
	struct timespec until;

	(void)spw_spin(&b->spin, &b->rings, b->heard + 1);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&b->lock);
	while (b->heard == b->rings &&
	       pthread_cond_timedwait(&b->rung, &b->lock, &until) == 0)
		;
	b->heard = b->rings;
	pthread_mutex_unlock(&b->lock);
}

bool
spw_bell_heard(struct spw_bell *b)
{
	uint32_t before = b->heard;

	b->heard = b->rings;
	return b->heard != before;
}

void
spw_bell_mute(struct spw_bell *b)
{
	pthread_mutex_lock(&b->lock);
	b->told = NULL;
	pthread_mutex_unlock(&b->lock);
}

void
spw_bell_unlock_and_ring(struct spw_bell *b)
{
	b->rings++;
	if (b->told)
		b->told(b->arg);
	pthread_mutex_unlock(&b->lock);
	pthread_cond_signal(&b->rung);
}

void
spw_bell_ring(void *bell)
{
	struct spw_bell *b = bell;

	pthread_mutex_lock(&b->lock);
	spw_bell_unlock_and_ring(b);
}
