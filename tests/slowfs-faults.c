/* SPDX-License-Identifier: BSD-3-Clause */
/* slowfs-faults.c -- makes requests slow and faulty, as the knobs ask */

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tests/slowfs-faults.h"
#include "tests/slowfs-knobs.h"

static struct knobs start_knobs = KNOBS_START;
static struct knobs knobs = KNOBS_START;
static unsigned int stalled;		/* requests that wait */
static int64_t link_free_at;		/* ns; when the shared link is idle */
static int64_t last_end;		/* ns; when a request was over last */
static bool (*has_ended)(void);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

int
faults_start(const char *text)
{
	int r;

	r = knobs_parse(text, strlen(text), &start_knobs);
	knobs = start_knobs;
	return r;
}

void
faults_end_when(bool (*ended)(void))
{
	has_ended = ended;
}

static void
set_knobs(const struct knobs *k)
{
	knobs = *k;
	pthread_cond_broadcast(&changed);
}

int
faults_set(const char *text, size_t n)
{
	const char *end = text + n, *eol;
	struct knobs k;
	int r = 0;

	pthread_mutex_lock(&lock);
	k = knobs;
	for (; text < end && r == 0; text = eol + 1) {
		eol = memchr(text, '\n', (size_t)(end - text));
		if (!eol)
			eol = end;
		if (eol > text)
			r = knobs_parse(text, (size_t)(eol - text), &k);
	}
	if (r == 0)
		set_knobs(&k);
	pthread_mutex_unlock(&lock);
	return r;
}

void
faults_reset(void)
{
	pthread_mutex_lock(&lock);
	set_knobs(&start_knobs);
	pthread_mutex_unlock(&lock);
}

size_t
faults_show(char *buf, size_t size)
{
	size_t n;

	pthread_mutex_lock(&lock);
	n = knobs_print(&knobs, buf, size);
	if (n < size)
		n += (size_t)snprintf(buf + n, size - n, "stalled=%u\n",
				      stalled);
	pthread_mutex_unlock(&lock);
	return n < size ? n : size;
}

bool
faults_need_path(void)
{
	bool need;

	pthread_mutex_lock(&lock);
	need = *knobs.only || *knobs.eio_write || *knobs.eio_read ||
	       *knobs.eio_fsync || *knobs.stall ||
	       *knobs.stall_change || *knobs.stall_find || *knobs.vanish;
	pthread_mutex_unlock(&lock);
	return need;
}

/* The path itself, or a directory that it is in. */
static bool
matches(const char *pattern, const char *path)
{
	char part[PATH_MAX];
	size_t i;

	if (!*pattern)
		return false;
	for (i = 0; path[i] && i < sizeof(part) - 1; i++) {
		part[i] = 0;
		if (path[i] == '/' && !fnmatch(pattern, part, 0))
			return true;
		part[i] = path[i];
	}
	part[i] = 0;
	return !fnmatch(pattern, part, 0);
}

static bool
eio_wanted(enum request_kind kind, const char *path)
{
	switch (kind) {
	case REQUEST_READ:
		return matches(knobs.eio_read, path);
	case REQUEST_WRITE:
		return matches(knobs.eio_write, path);
	case REQUEST_SYNC:
		return matches(knobs.eio_fsync, path);
	default:
		return false;
	}
}

static bool
stall_wanted(enum request_kind kind, const char *path)
{
	return (kind != REQUEST_FIND && kind != REQUEST_STATFS &&
		matches(knobs.stall, path)) ||
	       (kind == REQUEST_CHANGE && matches(knobs.stall_change, path)) ||
	       (kind == REQUEST_FIND && matches(knobs.stall_find, path)) ||
	       (kind == REQUEST_STATFS && matches(knobs.stall_statfs, path));
}

/* Called with the lock held.  The end of the session is not signalled to us:
 * look for it ten times a second. */
static void
wait_for_change(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_nsec += 100000000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_nsec -= 1000000000;
		ts.tv_sec++;
	}
	pthread_cond_timedwait(&changed, &lock, &ts);
}

int
faults_admit(enum request_kind kind, const char *path)
{
	int r = 0;

	pthread_mutex_lock(&lock);
	stalled++;
	while (stall_wanted(kind, path) && r == 0) {
		wait_for_change();
		r = has_ended() ? -EIO : 0;
	}
	stalled--;
	if (r == 0 && matches(knobs.vanish, path))
		r = -ESTALE;
	if (r == 0 && eio_wanted(kind, path))
		r = -EIO;
	pthread_mutex_unlock(&lock);
	return r;
}

bool
faults_hide(const char *path)
{
	bool hidden;

	pthread_mutex_lock(&lock);
	hidden = matches(knobs.vanish, path);
	pthread_mutex_unlock(&lock);
	return hidden;
}

static bool
is_meant(const char *path)
{
	return !*knobs.only || matches(knobs.only, path);
}

/* What a limit leaves of n bytes. */
static int64_t
limit_bytes(int64_t n, int64_t left, int error)
{
	if (n <= 0 || left < 0 || n <= left)
		return n;
	return left ? left : -error;
}

static void
count_bytes(int64_t n, int64_t *left)
{
	if (n > 0 && *left >= 0)
		*left -= n;
}

bool
faults_have_attributes(void)
{
	bool have;

	pthread_mutex_lock(&lock);
	have = !knobs.no_attributes;
	pthread_mutex_unlock(&lock);
	return have;
}

int64_t
faults_admit_bytes(int64_t n, const char *path)
{
	pthread_mutex_lock(&lock);
	if (is_meant(path)) {
		if (knobs.shorten > 0 && n > knobs.shorten)
			n = knobs.shorten;
		n = limit_bytes(n, knobs.enospc_after, ENOSPC);
		n = limit_bytes(n, knobs.edquot_after, EDQUOT);
		n = limit_bytes(n, knobs.eio_after, EIO);
		count_bytes(n, &knobs.enospc_after);
		count_bytes(n, &knobs.edquot_after);
		count_bytes(n, &knobs.eio_after);
	}
	pthread_mutex_unlock(&lock);
	return n;
}

int
faults_admit_space(int64_t n, const char *path)
{
	int r = 0;

	pthread_mutex_lock(&lock);
	if (is_meant(path)) {
		if (knobs.enospc_after >= 0 && n > knobs.enospc_after)
			r = -ENOSPC;
		else if (knobs.edquot_after >= 0 && n > knobs.edquot_after)
			r = -EDQUOT;
		if (r == 0) {
			count_bytes(n, &knobs.enospc_after);
			count_bytes(n, &knobs.edquot_after);
		}
	}
	pthread_mutex_unlock(&lock);
	return r;
}

int64_t
faults_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* Called with the lock held.  When a request that came at `since` and moves n
 * bytes is over.  One that comes right after another was over has only been
 * on its way through the kernel, which copies about a byte in a nanosecond:
 * it counts as come at once, so that a stream is as fast as was asked. */
static int64_t
end_of_request(int64_t since, size_t n)
{
	int64_t gap = since - last_end;

	if (gap > 0 && gap < 200000 + (int64_t)n)
		since = last_end;
	if (knobs.bandwidth > 0) {
		if (link_free_at > since)
			since = link_free_at;
		since += (int64_t)(n * 1e9 / knobs.bandwidth);
		link_free_at = since;
	}
	return since + knobs.latency * 1000000;
}

static void
sleep_until(int64_t until)
{
	struct timespec ts = { .tv_sec = until / 1000000000,
			       .tv_nsec = until % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) ==
	       EINTR)
		;
}

void
faults_take_time(int64_t since, size_t n)
{
	int64_t end;

	pthread_mutex_lock(&lock);
	end = end_of_request(since, n);
	pthread_mutex_unlock(&lock);
	sleep_until(end);
	pthread_mutex_lock(&lock);
	if (end > last_end)
		last_end = end;
	pthread_mutex_unlock(&lock);
}
