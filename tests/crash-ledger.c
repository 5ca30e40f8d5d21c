/* SPDX-License-Identifier: BSD-3-Clause */
/* crash-ledger.c -- what was promised, by whom, and whether it was kept */
#include "tests/crash.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/util.h"

struct header {				/* an appended record begins so */
	uint32_t magic, writer;
	uint32_t seq, len;
};

enum { MAGIC = 0x52434550 };

static uint8_t home[32 << 20], want[CRASH_WRITERS * CRASH_REGION];

static uint64_t
mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

uint64_t
crash_random(uint64_t *state)
{
	return mix(*state += 0x9e3779b97f4a7c15ull);
}

/* What write seq of a writer puts at file offsets from off on. */
static void
fill(uint8_t *to, int no, uint64_t seq, uint64_t off, uint64_t n)
{
	uint64_t key = mix((uint64_t)no << 56 ^ seq);
	uint64_t word = mix(key + off / 8);

	for (uint64_t i = 0; i < n; i++, off++) {
		if (off % 8 == 0)
			word = mix(key + off / 8);
		to[i] = (uint8_t)(word >> off % 8 * 8) | 1;
	}
}

static uint32_t
record_length(int no, uint32_t seq)
{
	uint64_t r = mix((uint64_t)no << 40 ^ seq ^ 0xa99e4d);
	uint64_t most = r % 8 == 0 ? CRASH_RECORD : r % 8 < 3 ? 9000 : 700;

	return (uint32_t)(sizeof(struct header) + (r >> 8) %
			  (most - sizeof(struct header)));
}

static uint32_t
make_record(uint8_t *to, int no, uint32_t seq)
{
	struct header h = {
		MAGIC, (uint32_t)no, seq, record_length(no, seq),
	};

	memcpy(to, &h, sizeof(h));
	fill(to + sizeof(h), no, 1ull << 48 | seq, 0, h.len - sizeof(h));
	return h.len;
}

void
crash_name(char name[32], int which, int writer)
{
	if (which == CRASH_FILE_OWN)
		snprintf(name, 32, "own.%d", writer);
	else
		snprintf(name, 32, "%s", which == CRASH_FILE_SHARED
			 ? "shared" : "appended");
}

struct crash_ledger *
crash_ledger_new(void)
{
	void *at = mmap(NULL, sizeof(struct crash_ledger),
			PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);

	if (at == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return at;
}

void
crash_ledger_clear(struct crash_ledger *l)
{
	uint64_t rng[CRASH_WRITERS];

	for (int i = 0; i < CRASH_WRITERS; i++)
		rng[i] = l->writer[i].rng;
	memset(l, 0, sizeof(*l));
	for (int i = 0; i < CRASH_WRITERS; i++)
		l->writer[i].rng = rng[i];
}

static void
begin(struct crash_writer *w, enum crash_kind kind, uint64_t off,
      uint64_t len)
{
	w->kind = kind;
	w->seq++;
	w->off = off;
	w->len = len;
	atomic_store(&w->phase, CRASH_INTENT);
}

static void
note_data(struct crash_writer *w, const uint8_t *data)
{
	if (w->kind == CRASH_SHARED) {
		memcpy(w->shared + w->off, data, w->len);
		w->shared_end = SPW_MAX(w->shared_end, w->off + w->len);
		return;
	}
	memcpy(w->own + w->off, data, w->len);
	w->own_size = SPW_MAX(w->own_size, w->off + w->len);
}

static void
note_cut(struct crash_writer *w)
{
	if (w->len < w->own_size)
		memset(w->own + w->len, 0, w->own_size - w->len);
	w->own_size = w->len;
}

static int
perform(struct crash_writer *w, int no, struct crash_door *door,
	uint8_t *data)
{
	uint64_t base = (uint64_t)no * CRASH_REGION;

	switch (w->kind) {
	case CRASH_SHARED:
		fill(data, no, w->seq, base + w->off, w->len);
		return door->write(door, CRASH_FILE_SHARED, data, w->len,
				   base + w->off);
	case CRASH_OWNED:
		fill(data, no, w->seq, w->off, w->len);
		return door->write(door, CRASH_FILE_OWN, data, w->len,
				   w->off);
	case CRASH_CUT:
		return door->cut(door, w->len);
	default:
		make_record(data, no, (uint32_t)w->off);
		return door->append(door, data, w->len);
	}
}

int
crash_do(struct crash_ledger *l, int no, struct crash_door *door,
	 enum crash_kind kind, uint64_t off, uint64_t len)
{
	static uint8_t data[CRASH_OWN];
	struct crash_writer *w = &l->writer[no];

	if (kind == CRASH_APPEND) {
		off = w->next_record++;
		if (off >= CRASH_RECORDS)
			return 0;
		len = record_length(no, (uint32_t)off);
		w->record[off] = CRASH_BEGUN;
	}
	begin(w, kind, off, len);
	if (perform(w, no, door, data) < 0)
		return -1;
	atomic_store(&w->phase, CRASH_KEPT);
	if (kind == CRASH_APPEND)
		w->record[off] = CRASH_ACKED;
	else if (kind == CRASH_CUT)
		note_cut(w);
	else
		note_data(w, data);
	atomic_store(&w->phase, CRASH_NOTHING);
	w->ops++;
	return 0;
}

/* A place and a size: pieces, whole blocks, many blocks, all of them odd. */
static void
choose(uint64_t *rng, uint64_t limit, uint64_t shift, uint64_t *off,
       uint64_t *len)
{
	uint64_t r = crash_random(rng);
	uint64_t most = r % 16 == 0 ? limit : r % 16 < 5 ? 20000
			: r % 16 < 8 ? 5000 : 300;

	*off = crash_random(rng) % (limit - 1);
	*len = 1 + crash_random(rng) % SPW_MIN(most, limit - *off);
	if (r >> 8 & 1) {		/* whole blocks of the file */
		uint64_t to = (*off + *len + shift + CRASH_BLOCK - 1) &
			      ~(uint64_t)(CRASH_BLOCK - 1);

		*off = ((*off + shift) & ~(uint64_t)(CRASH_BLOCK - 1));
		*off = *off > shift ? *off - shift : 0;
		*len = SPW_MIN(to - shift - *off, limit - *off);
	}
}

static int
look(struct crash_writer *w, int no, struct crash_door *door, int which)
{
	static uint8_t seen[CRASH_OWN];
	uint64_t n, base = which == CRASH_FILE_SHARED
			   ? (uint64_t)no * CRASH_REGION : 0;
	uint64_t off = crash_random(&w->rng) % 90000;
	const uint8_t *expected = which == CRASH_FILE_SHARED ? w->shared
							     : w->own;

	if (door->read(door, which, seen, 10000, base + off, &n) < 0)
		return -1;
	if (which == CRASH_FILE_OWN &&
	    n != (off < w->own_size ? SPW_MIN(10000, w->own_size - off) : 0)) {
		printf("writer %d reads %lu bytes at %lu of %lu\n", no,
		       (unsigned long)n, (unsigned long)off,
		       (unsigned long)w->own_size);
		return -1;
	}
	n = SPW_MIN(n, CRASH_REGION - off);
	for (uint64_t i = 0; i < n; i++)
		if (seen[i] != expected[off + i]) {
			printf("writer %d reads %02x, not %02x, at %lu of "
			       "file %d\n", no, seen[i], expected[off + i],
			       (unsigned long)(base + off + i), which);
			return -1;
		}
	return 0;
}

int
crash_step(struct crash_ledger *l, int no, struct crash_door *door)
{
	struct crash_writer *w = &l->writer[no];
	uint64_t off, len, r = crash_random(&w->rng) % 32;

	if (r < 11) {
		choose(&w->rng, CRASH_REGION, (uint64_t)no * CRASH_REGION %
		       CRASH_BLOCK, &off, &len);
		return crash_do(l, no, door, CRASH_SHARED, off, len);
	}
	if (r < 21) {
		choose(&w->rng, CRASH_OWN, 0, &off, &len);
		return crash_do(l, no, door, CRASH_OWNED, off, len);
	}
	if (r < 26)
		return crash_do(l, no, door, CRASH_APPEND, 0, 0);
	if (r < 28)
		return crash_do(l, no, door, CRASH_CUT, 0,
				crash_random(&w->rng) % CRASH_OWN);
	if (r == 28 && door->visit)
		return door->visit(door);
	return look(w, no, door, r & 1 ? CRASH_FILE_OWN : CRASH_FILE_SHARED);
}

static int64_t
read_home(const char *name)
{
	int fd = open(name, O_RDONLY);
	int64_t n = fd < 0 ? -1 : read(fd, home, sizeof(home) - 1);

	if (fd >= 0)
		close(fd);
	if (n < 0)
		perror(name);
	else
		memset(home + n, 0, SPW_MIN(sizeof(home) - (size_t)n,
					    CRASH_WRITERS * CRASH_REGION));
	return n;
}

static bool
differs(const char *name, const uint8_t *is, const uint8_t *should,
	uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		if (is[i] != should[i]) {
			printf("%s: byte %lu is %02x, promised was %02x "
			       "(range %lu to %lu)\n", name, (unsigned long)i,
			       is[i], should[i], (unsigned long)from,
			       (unsigned long)to);
			return true;
		}
	return false;
}

/*
 * The write under way at [off, off + len) of the file, base the offset of
 * image in it. Each block's part is old or new as a whole; new parts come
 * first, since blocks are published in order. What is there goes into the
 * image. ret_end: where the last new part ends.
 */
static bool
check_pieces(const char *name, struct crash_writer *w, int no, uint8_t *image,
	     uint64_t base, uint64_t *ret_end)
{
	bool kept = atomic_load(&w->phase) == CRASH_KEPT;
	uint64_t at = base + w->off, end = at + w->len, to;
	static uint8_t new[CRASH_OWN];

	fill(new, no, w->seq, at, w->len);
	*ret_end = 0;
	for (; at < end; at = to) {
		uint8_t *old = image + (at - base);
		const uint8_t *fresh = new + (at - base - w->off);

		to = SPW_MIN((at / CRASH_BLOCK + 1) * CRASH_BLOCK, end);
		if (memcmp(home + at, fresh, to - at) == 0) {
			*ret_end = to;
			memcpy(old, fresh, to - at);
		} else if (kept || memcmp(home + at, old, to - at) != 0) {
			printf("%s: writer %d: bytes %lu to %lu are %s\n",
			       name, no, (unsigned long)at, (unsigned long)to,
			       kept ? "lost" : "neither old nor new");
			return false;
		}
	}
	return true;
}

static bool
check_shared(struct crash_ledger *l)
{
	int64_t n = read_home("shared");
	uint64_t least = 0;

	if (n < 0)
		return false;
	for (int i = 0; i < CRASH_WRITERS; i++) {
		struct crash_writer *w = &l->writer[i];
		uint64_t end, base = (uint64_t)i * CRASH_REGION;

		if (atomic_load(&w->phase) && w->kind == CRASH_SHARED) {
			if (!check_pieces("shared", w, i, w->shared, base,
					  &end))
				return false;
			if (end)
				w->shared_end = SPW_MAX(w->shared_end,
							end - base);
			atomic_store(&w->phase, CRASH_NOTHING);
		}
		memcpy(want + base, w->shared, CRASH_REGION);
		if (w->shared_end)
			least = SPW_MAX(least, base + w->shared_end);
	}
	if ((uint64_t)n != least) {
		printf("shared: has %ld bytes, promised were %lu\n", (long)n,
		       (unsigned long)least);
		return false;
	}
	return !differs("shared", home, want, 0,
			CRASH_WRITERS * CRASH_REGION);
}

/* Cut or not cut, nothing in between. */
static bool
resolve_cut(struct crash_writer *w, uint64_t n)
{
	if (atomic_load(&w->phase) == CRASH_KEPT || n == w->len)
		note_cut(w);
	return n == w->own_size;
}

static bool
check_own(struct crash_writer *w, int no)
{
	char name[32];
	uint64_t end;
	int64_t n;

	crash_name(name, CRASH_FILE_OWN, no);
	n = read_home(name);
	if (n < 0)
		return false;
	if (atomic_load(&w->phase) && w->kind == CRASH_CUT) {
		if (!resolve_cut(w, (uint64_t)n)) {
			printf("%s: cut from %lu to %lu, but has %ld bytes\n",
			       name, (unsigned long)w->own_size,
			       (unsigned long)w->len, (long)n);
			return false;
		}
	} else if (atomic_load(&w->phase) && w->kind == CRASH_OWNED) {
		if (!check_pieces(name, w, no, w->own, 0, &end))
			return false;
		w->own_size = SPW_MAX(w->own_size, end);
	}
	if ((uint64_t)n != w->own_size) {
		printf("%s: has %ld bytes, promised were %lu\n", name, (long)n,
		       (unsigned long)w->own_size);
		return false;
	}
	if (differs(name, home, w->own, 0, CRASH_OWN))
		return false;
	if (w->kind != CRASH_APPEND && w->kind != CRASH_SHARED)
		atomic_store(&w->phase, CRASH_NOTHING);
	return true;
}

/* The longest beginning of record s that ends with a block. */
static uint64_t
match_beginning(int no, uint32_t s, uint64_t at, uint64_t size)
{
	static uint8_t record[CRASH_RECORD];
	uint64_t len = make_record(record, no, s), most = 0;

	for (uint64_t to = (at / CRASH_BLOCK + 1) * CRASH_BLOCK;
	     to - at < len && to <= size; to += CRASH_BLOCK)
		if (memcmp(home + at, record, to - at) == 0)
			most = to - at;
	return most;
}

/* A record that a killed writer had begun may be there up to the end of a
 * block. Returns the bytes that are there, 0 if none fits. Headers of one
 * writer begin alike, so the record that fits best counts. */
static uint64_t
match_torn(struct crash_ledger *l, uint64_t at, uint64_t size)
{
	uint8_t *best = NULL;
	uint64_t most = 0;

	for (int i = 0; i < CRASH_WRITERS; i++) {
		struct crash_writer *w = &l->writer[i];

		for (uint32_t s = 0; s < w->next_record &&
		     s < CRASH_RECORDS; s++) {
			uint64_t n = 0;

			if (w->record[s] == CRASH_BEGUN ||
			    w->record[s] == CRASH_TORN)
				n = match_beginning(i, s, at, size);
			if (n > most) {
				most = n;
				best = &w->record[s];
			}
		}
	}
	if (best)
		*best = CRASH_TORN;
	return most;
}

static uint64_t
match_whole(struct crash_ledger *l, uint64_t at, uint64_t size)
{
	static uint8_t record[CRASH_RECORD];
	struct header h;

	memcpy(&h, home + at, sizeof(h));
	if (size - at < sizeof(h) || h.magic != MAGIC ||
	    h.writer >= CRASH_WRITERS || h.seq >= CRASH_RECORDS ||
	    h.len != record_length((int)h.writer, h.seq) || h.len > size - at)
		return 0;
	make_record(record, (int)h.writer, h.seq);
	if (memcmp(home + at, record, h.len) != 0)
		return 0;
	if (l->writer[h.writer].record[h.seq] == CRASH_BEGUN)
		l->writer[h.writer].record[h.seq] = CRASH_ACKED;
	want[h.writer * CRASH_RECORDS + h.seq]++;
	return h.len;
}

static bool
check_appended(struct crash_ledger *l)
{
	int64_t n = read_home("appended");

	if (n < 0)
		return false;
	memset(want, 0, CRASH_WRITERS * CRASH_RECORDS);
	for (int i = 0; i < CRASH_WRITERS; i++) {
		struct crash_writer *w = &l->writer[i];

		if (atomic_load(&w->phase) == CRASH_KEPT &&
		    w->kind == CRASH_APPEND)
			w->record[w->off] = CRASH_ACKED;
	}
	for (uint64_t at = 0, step; at < (uint64_t)n; at += step) {
		step = match_whole(l, at, (uint64_t)n);
		if (!step)
			step = match_torn(l, at, (uint64_t)n);
		if (!step) {
			printf("appended: no record at %lu of %ld\n",
			       (unsigned long)at, (long)n);
			return false;
		}
	}
	for (int i = 0; i < CRASH_WRITERS; i++)
		for (uint32_t s = 0; s < CRASH_RECORDS; s++) {
			int state = l->writer[i].record[s];
			int there = want[i * CRASH_RECORDS + (int)s];

			if (there != (state == CRASH_ACKED)) {
				printf("appended: record %u of writer %d is "
				       "there %d times, state %d\n", s, i,
				       there, state);
				return false;
			}
			if (state == CRASH_BEGUN)
				l->writer[i].record[s] = CRASH_TORN;
		}
	return true;
}

bool
crash_check(struct crash_ledger *l)
{
	bool ok = !atomic_load(&l->bad) && check_appended(l);

	for (int i = 0; i < CRASH_WRITERS && ok; i++)
		ok = check_own(&l->writer[i], i);
	ok = ok && check_shared(l);
	for (int i = 0; i < CRASH_WRITERS && ok; i++)
		atomic_store(&l->writer[i].phase, CRASH_NOTHING);
	return ok;
}
