/* SPDX-License-Identifier: BSD-3-Clause */
/* show.c -- names, sizes, errors and progress, fit for people's eyes */
#include "tools/show.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shm/text.h"

enum { BAR = 24 };

void
spw_show_name(FILE *out, const char *s)
{
	size_t n = strlen(s), len;

	for (; n; s += len, n -= len) {
		len = spw_text_char(s, n);
		if (len) {
			fwrite(s, 1, len, out);
		} else {
			fprintf(out, "\\x%02x", (unsigned char)*s);
			len = 1;
		}
	}
}

const char *
spw_show_size(uint64_t bytes, char buf[SPW_SHOW_MAX])
{
	struct spw_text t;

	spw_text_init(&t, buf, SPW_SHOW_MAX);
	spw_text_size(&t, bytes);
	return buf;
}

const char *
spw_show_count(uint64_t n, const char *what, char buf[SPW_SHOW_MAX])
{
	snprintf(buf, SPW_SHOW_MAX, "%llu %s%s", (unsigned long long)n, what,
		 n == 1 ? "" : "s");
	return buf;
}

double
spw_show_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

void
spw_progress_begin(struct spw_progress *p, const char *what, bool quiet)
{
	*p = (struct spw_progress){
		.what = what, .quiet = quiet, .began = spw_show_clock(),
		.tty = isatty(STDERR_FILENO),
	};
	p->shown = p->tty ? 0 : p->began;
}

static void
put_bar(const struct spw_progress *p, uint64_t done)
{
	unsigned full = p->total ? (unsigned)((double)done * BAR /
					      (double)p->total) : BAR;

	putc('[', stderr);
	for (unsigned i = 0; i < BAR; i++)
		putc(i < full ? '#' : '-', stderr);
	fputs("]  ", stderr);
}

static void
put_line(const struct spw_progress *p, uint64_t left, double now)
{
	char a[SPW_SHOW_MAX], b[SPW_SHOW_MAX], c[SPW_SHOW_MAX];
	uint64_t done = p->total - left;
	double rate = (double)done / (now - p->began);

	fputs(p->tty ? "\r" : "spillway: ", stderr);
	spw_show_name(stderr, p->what);
	fputs("  ", stderr);
	if (p->tty)
		put_bar(p, done);
	fprintf(stderr, "%s of %s", spw_show_size(done, a),
		spw_show_size(p->total, b));
	if (done)
		fprintf(stderr, "  %s/s  ETA %.0f s",
			spw_show_size((uint64_t)rate, c),
			(double)left / rate);
	if (p->stopped)
		fprintf(stderr, "  waits for process %u, which is stopped",
			p->stopped);
	fputs(p->tty ? "\033[K" : "\n", stderr);
	fflush(stderr);
}

/* A line is due, and counts as shown. */
static bool
is_due(struct spw_progress *p, double now)
{
	if (p->quiet || now - p->began < 1 || !p->total ||
	    now - p->shown < (p->tty ? 0.1 : 10))
		return false;
	p->shown = now;
	p->on_screen = p->tty;
	return true;
}

void
spw_progress_show(struct spw_progress *p, uint64_t left)
{
	double now = spw_show_clock();

	if (left > p->total)
		p->total = left;
	if (is_due(p, now))
		put_line(p, left, now);
}

void
spw_progress_share(struct spw_progress *p, double share, const char *doing)
{
	p->total = 1000;
	if (!is_due(p, spw_show_clock()))
		return;
	fprintf(stderr, p->tty ? "\r%s  " : "spillway: %s  ", p->what);
	if (p->tty)
		put_bar(p, (uint64_t)(1000 * share));
	fprintf(stderr, "%.0f %%  ", 100 * share);
	spw_show_name(stderr, doing);
	fputs(p->tty ? "\033[K" : "\n", stderr);
	fflush(stderr);
}

void
spw_progress_end(struct spw_progress *p)
{
	if (p->on_screen)
		fputs("\r\033[K", stderr);
	p->on_screen = false;
}
