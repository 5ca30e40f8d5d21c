/* SPDX-License-Identifier: BSD-3-Clause */
/* slowfs-knobs.c -- how slow and how faulty slowfs is at the moment */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/slowfs-knobs.h"

struct knobs {
	int64_t bandwidth, latency, shorten, enospc_after, eio_after;
	int64_t edquot_after, eio_fsync;
};

#define FAULTLESS { .enospc_after = -1, .edquot_after = -1, .eio_after = -1 }

static struct knobs start_knobs = FAULTLESS;
static struct knobs knobs = FAULTLESS;
static const char *control;		/* NULL: knobs never change */
static struct stat seen;			/* control, when last read */
static int64_t written;			/* since the knobs were last set */
static int64_t link_free_at;		/* ns; when the shared link is idle */
static pthread_mutex_t knobs_lock = PTHREAD_MUTEX_INITIALIZER;

static int
set_one(struct knobs *k, const char *text)
{
	static const struct {
		const char *key;
		size_t offset;
	} keys[] = {
		{ "bandwidth=", offsetof(struct knobs, bandwidth) },
		{ "latency=", offsetof(struct knobs, latency) },
		{ "short=", offsetof(struct knobs, shorten) },
		{ "enospc-after=", offsetof(struct knobs, enospc_after) },
		{ "edquot-after=", offsetof(struct knobs, edquot_after) },
		{ "eio-after=", offsetof(struct knobs, eio_after) },
		{ "eio-fsync=", offsetof(struct knobs, eio_fsync) },
	};
	size_t i, n;
	char *end;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		n = strlen(keys[i].key);
		if (strncmp(text, keys[i].key, n))
			continue;
		*(int64_t *)((char *)k + keys[i].offset) =
			strtoll(text + n, &end, 10);
		return end != text + n && (!*end || *end == '\n') ? 0 : -EINVAL;
	}
	return -EINVAL;
}

int
knobs_set(const char *text)
{
	int r;

	if (!strncmp(text, "control=", 8)) {
		control = text + 8;
		return 0;
	}
	r = set_one(&start_knobs, text);
	knobs = start_knobs;
	return r;
}

/* Called with knobs_lock held.  A missing or half-written file changes
 * nothing; it is read again when it changes again. */
static void
read_control(void)
{
	struct knobs k = start_knobs;
	char line[128];
	struct stat st;
	FILE *f;

	if (!control || stat(control, &st) < 0)
		return;
	if (st.st_ino == seen.st_ino && st.st_size == seen.st_size &&
	    !memcmp(&st.st_mtim, &seen.st_mtim, sizeof(st.st_mtim)))
		return;
	f = fopen(control, "r");
	if (!f || fstat(fileno(f), &st) < 0)
		goto out;
	while (fgets(line, sizeof(line), f))
		if (line[0] != '\n' && set_one(&k, line) < 0)
			fprintf(stderr, "slowfs: %s: cannot read: %s",
				control, line);
	seen = st;
	knobs = k;
	written = 0;
out:
	if (f)
		fclose(f);
}

static int64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

void
knobs_take_time(size_t n)
{
	struct timespec ts;
	int64_t until;

	pthread_mutex_lock(&knobs_lock);
	read_control();
	until = now_ns();
	if (knobs.bandwidth > 0) {
		if (link_free_at > until)
			until = link_free_at;
		until += (int64_t)(n * 1e9 / knobs.bandwidth);
		link_free_at = until;
	}
	until += knobs.latency * 1000000;
	pthread_mutex_unlock(&knobs_lock);

	ts.tv_sec = until / 1000000000;
	ts.tv_nsec = until % 1000000000;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) ==
	       EINTR)
		;
}

/* What is left of r bytes before the limit, if there is one; err beyond. */
static int64_t
admit(int64_t r, int64_t limit, int err)
{
	if (r <= 0 || limit < 0 || written + r <= limit)
		return r;
	return limit > written ? limit - written : -err;
}

int64_t
knobs_admit_write(int64_t n)
{
	int64_t r = n;

	pthread_mutex_lock(&knobs_lock);
	read_control();
	if (knobs.shorten > 0 && r > knobs.shorten)
		r = knobs.shorten;
	r = admit(r, knobs.enospc_after, ENOSPC);
	r = admit(r, knobs.edquot_after, EDQUOT);
	r = admit(r, knobs.eio_after, EIO);
	if (r > 0)
		written += r;
	pthread_mutex_unlock(&knobs_lock);
	return r;
}

bool
knobs_fsync_fails(void)
{
	bool fails;

	pthread_mutex_lock(&knobs_lock);
	read_control();
	fails = knobs.eio_fsync;
	pthread_mutex_unlock(&knobs_lock);
	return fails;
}
