/* SPDX-License-Identifier: BSD-3-Clause */
/* random-ops-model.c -- what a file should hold, and the word if it does not */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/random-ops.h"

struct ro_run ro_run;

uint64_t
ro_random(uint64_t *state)	/* xorshift64*, by Marsaglia and Vigna */
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dull;
}

/* Islands start at odd places: the first block of each is never whole. */
static uint64_t
island_start(uint64_t i)
{
	static const uint64_t start[RO_ISLANDS] = {
		0, (3ull << 30) + 77, (100ull << 30) + 4096,
		(1ull << 40) - 12345,
	};

	return start[i];
}

static uint64_t
island_size(void)
{
	return ro_run.room / RO_ISLANDS;
}

uint64_t
ro_off(uint64_t at)
{
	if (!ro_run.sparse)
		return at;
	return island_start(at / island_size()) + at % island_size();
}

bool
ro_at(uint64_t off, uint64_t *ret_at)
{
	if (!ro_run.sparse) {
		*ret_at = off;
		return off >= ro_run.lo && off < ro_run.hi;
	}
	for (uint64_t i = 0; i < RO_ISLANDS; i++)
		if (off >= island_start(i) &&
		    off < island_start(i) + island_size()) {
			*ret_at = i * island_size() + off - island_start(i);
			return true;
		}
	return false;
}

uint64_t
ro_rest(uint64_t at)
{
	if (!ro_run.sparse)
		return ro_run.hi - at;
	return island_size() - at % island_size();
}

uint64_t
ro_place(uint64_t r)
{
	uint64_t at = ro_run.lo + r % (ro_run.hi - ro_run.lo);

	/* Some exactly on a block's edge, all where that is asked for. */
	if (r >> 60 == 0)
		at = at & ~(uint64_t)4095;
	at -= at % ro_run.align;
	return at < ro_run.lo ? ro_run.lo : at;
}

/* As many short ones as long ones, on a scale of powers of two. */
uint64_t
ro_length(uint64_t r, uint64_t at)
{
	uint64_t rest = ro_rest(at), len;
	uint32_t bits = 64 - (uint32_t)__builtin_clzll(ro_run.max_io);

	len = 1 + (r >> 8) % (1ull << (r & 0xff) % bits);
	if (r >> 62 == 0 && len > 4096)
		len &= ~(uint64_t)4095;
	if (ro_run.align > 1)
		len = (len + ro_run.align - 1) / ro_run.align * ro_run.align;
	len = len > ro_run.max_io ? ro_run.max_io : len;
	return len > rest ? rest : len;
}

uint64_t
ro_readable(const struct ro_file *f, uint64_t at, uint64_t len)
{
	uint64_t off = ro_off(at);

	if (off >= f->size)
		return 0;
	return len < f->size - off ? len : f->size - off;
}

void
ro_put(struct ro_file *f, uint64_t at, const void *buf, uint64_t len)
{
	memcpy(f->bytes + at, buf, len);
	if (!ro_run.sized && len && f->size < ro_off(at) + len)
		f->size = ro_off(at) + len;
}

void
ro_zero(struct ro_file *f, uint64_t at, uint64_t len)
{
	memset(f->bytes + at, 0, len);
}

void
ro_set_size(struct ro_file *f, uint64_t size)
{
	uint64_t step = ro_run.sparse ? island_size() : ro_run.room;

	for (uint64_t at = 0; at < ro_run.room && size < f->size;
	     at += step) {
		uint64_t start = ro_off(at);
		uint64_t keep = size <= start ? 0
				: size - start < step ? size - start : step;
		uint64_t end = f->size <= start ? 0
			       : f->size - start < step ? f->size - start
			       : step;

		if (end > keep)
			memset(f->bytes + at + keep, 0, end - keep);
	}
	f->size = size;
}

static void
print_bytes(const char *what, const uint8_t *p, uint64_t n)
{
	fprintf(stderr, "  %s", what);
	for (uint64_t i = 0; i < n && i < 24; i++)
		fprintf(stderr, " %02x", p[i]);
	fprintf(stderr, "\n");
}

void
ro_same(const struct ro_file *f, uint64_t at, const void *buf, uint64_t len)
{
	const uint8_t *is = buf, *should = f->bytes + at;
	uint64_t i, wrong = 0;

	if (memcmp(is, should, len) == 0)
		return;
	for (i = 0; is[i] == should[i]; i++)
		;
	for (uint64_t k = i; k < len; k++)
		wrong += is[k] != should[k];
	fprintf(stderr, "%s: %llu of %llu bytes read at %#llx differ, the "
		"first at %#llx; the size is %#llx\n", f->path,
		(unsigned long long)wrong, (unsigned long long)len,
		(unsigned long long)ro_off(at),
		(unsigned long long)ro_off(at + i),
		(unsigned long long)f->size);
	print_bytes("expected", should + i, len - i);
	print_bytes("found   ", is + i, len - i);
	ro_fail("wrong bytes");
}

void
ro_tail(void)
{
	uint64_t n = ro_run.done < RO_TAIL ? ro_run.done : RO_TAIL;

	for (uint64_t i = ro_run.done - n; i < ro_run.done; i++)
		ro_describe(STDERR_FILENO, &ro_run.tail[i % RO_TAIL]);
}

void
ro_fail(const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	fprintf(stderr, "process %d, operation %llu, depth %u, seed %llu: ",
		(int)getpid(), (unsigned long long)ro_run.done, ro_run.depth,
		(unsigned long long)ro_run.seed);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, " (errno %d)\nthe last operations:\n", saved);
	for (uint32_t i = 0; i < RO_SLOTS; i++) {
		const struct ro_slot *s = &ro_run.slot[i];

		if (s->fd >= 0)
			fprintf(stderr, "  fd %d: file %u, description %u, "
				"position %llu\n", s->fd, s->file, s->desc,
				(unsigned long long)
				ro_run.s->desc[s->desc].pos);
	}
	ro_tail();
	ro_run.s->failed = 1;
	if (getenv("RANDOM_OPS_STOP"))
		pause();		/* for a debugger */
	_exit(1);
}

uint64_t
ro_digest(const void *buf, uint64_t len, uint64_t start)
{
	const uint8_t *p = buf;
	uint64_t h = start, word;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&word, p, 8);
		h = (h ^ word) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	for (; len; p++, len--)
		h = (h ^ *p) * 0x100000001b3ull;
	return h;
}

void
ro_write_image(const struct ro_file *f, const char *path)
{
	uint64_t step = ro_run.sparse ? island_size() : ro_run.room;
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);

	RO_CHECK(fd >= 0, path);
	RO_CHECK(ftruncate(fd, (off_t)f->size) == 0, path);
	for (uint64_t at = 0; at < ro_run.room; at += step) {
		uint64_t n = ro_readable(f, at, step), done = 0;

		while (done < n) {
			ssize_t r = pwrite(fd, f->bytes + at + done, n - done,
					   (off_t)(ro_off(at) + done));

			RO_CHECK(r > 0, path);
			done += (uint64_t)r;
		}
	}
	RO_CHECK(close(fd) == 0, path);
}

/* Where either file has data, from off on; -1: nowhere. */
static off_t
next_data(int a, int b, off_t off)
{
	off_t x = lseek(a, off, SEEK_DATA), y = lseek(b, off, SEEK_DATA);

	if (x < 0 || y < 0)
		return x > y ? x : y;
	return x < y ? x : y;
}

/* Equal bytes and sizes; skips what is a hole in both. */
int
ro_compare(const char *a, const char *b)
{
	static char x[1 << 16], y[1 << 16];
	int fa = open(a, O_RDONLY), fb = open(b, O_RDONLY);
	off_t off = 0;

	if (fa < 0 || fb < 0) {
		perror(fa < 0 ? a : b);
		return 2;
	}
	if (lseek(fa, 0, SEEK_END) != lseek(fb, 0, SEEK_END)) {
		fprintf(stderr, "%s and %s differ in size\n", a, b);
		return 1;
	}
	while ((off = next_data(fa, fb, off)) >= 0) {
		ssize_t n = pread(fa, x, sizeof(x), off);

		if (n < 0 || pread(fb, y, sizeof(y), off) != n ||
		    memcmp(x, y, (size_t)n) != 0) {
			fprintf(stderr, "%s and %s differ in the 64 KiB at "
				"%lld\n", a, b, (long long)off);
			return 1;
		}
		if (n == 0)
			break;
		off += n;
	}
	return 0;
}
