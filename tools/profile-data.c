/* SPDX-License-Identifier: BSD-3-Clause */
/* profile-data.c -- data to measure codecs on: made, or read from files */
#include "tools/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_SHOWN 24

/* The same bytes on every machine (splitmix64). */
static uint64_t
draw(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static double
unit(uint64_t *state)
{
	return ((double)(draw(state) >> 11) + 0.5) * 0x1p-53;
}

static double
normal(uint64_t *state)
{
	return sqrt(-2 * log(unit(state))) * cos(2 * M_PI * unit(state));
}

enum number {
	UNIFORM, NORMAL, EXPONENTIAL, GAMMA, FIELD, COUNTER, RANGE, WALK,
};

struct maker {
	uint64_t state;
	double last;
};

static double
next_number(struct maker *m, enum number what, size_t i)
{
	uint64_t *s = &m->state;

	switch (what) {
	case UNIFORM:
		return unit(s);
	case NORMAL:
		return normal(s);
	case EXPONENTIAL:
		return -log(unit(s));
	case GAMMA:
		return -log(unit(s)) - log(unit(s)) - log(unit(s));
	case FIELD:
		return 3 + sin(0.05 * (double)i) + cos(0.01 * (double)i) +
		       1e-5 * normal(s);
	case COUNTER:
		return m->last += 1 + (double)(draw(s) % 4);
	case RANGE:
		return (double)(draw(s) % 5000);
	default:
		return m->last += (double)(draw(s) % 401) - 200;
	}
}

enum shape { F32, F64, I32, I64, ZERO, TEXT, RANDOM, PARTICLES };

static void
put_numbers(struct maker *m, enum shape shape, enum number what, uint8_t *p,
	    size_t n)
{
	size_t width = shape == F32 || shape == I32 ? 4 : 8;

	for (size_t i = 0; i < n / width; i++) {
		double x = next_number(m, what, i);
		float f = (float)x;
		int32_t i32 = (int32_t)x;
		int64_t i64 = (int64_t)x;
		const void *from = shape == F32 ? (void *)&f :
				   shape == F64 ? (void *)&x :
				   shape == I32 ? (void *)&i32 : (void *)&i64;

		memcpy(p + i * width, from, width);
	}
}

static void
put_text(struct maker *m, uint8_t *p, size_t n)
{
	char line[96];
	size_t len;

	for (size_t at = 0; at < n; at += len) {
		len = (size_t)snprintf(line, sizeof(line),
				       "%zu,%.6f,step %llu,%.3e\n", at / 32,
				       normal(&m->state),
				       (unsigned long long)draw(&m->state) %
				       100, unit(&m->state));
		len = len < n - at ? len : n - at;
		memcpy(p + at, line, len);
	}
}

/* Position, cell, momentum and charge, one after the other. */
static void
put_particles(struct maker *m, uint8_t *p, size_t n)
{
	struct { float d[3]; int32_t cell; float u[3], q; } r;

	for (size_t i = 0; (i + 1) * sizeof(r) <= n; i++) {
		for (int k = 0; k < 3; k++) {
			r.d[k] = (float)(2 * unit(&m->state) - 1);
			r.u[k] = (float)(0.1 * normal(&m->state));
		}
		r.cell = (int32_t)(i / 64);
		r.q = 1e-3f;
		memcpy(p + i * sizeof(r), &r, sizeof(r));
	}
}

static void
put_random(struct maker *m, uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)draw(&m->state);
}

static const struct {
	const char *name;
	enum shape shape;
	enum number number;
} kinds[] = {
	{ "zeros", ZERO, 0 }, { "text", TEXT, 0 }, { "random", RANDOM, 0 },
	{ "int32 counter", I32, COUNTER }, { "int32 range", I32, RANGE },
	{ "int32 walk", I32, WALK }, { "int64 counter", I64, COUNTER },
	{ "float32 field", F32, FIELD }, { "float64 field", F64, FIELD },
	{ "float32 uniform", F32, UNIFORM },
	{ "float32 normal", F32, NORMAL },
	{ "float32 exponential", F32, EXPONENTIAL },
	{ "float32 gamma", F32, GAMMA },
	{ "float64 uniform", F64, UNIFORM },
	{ "float64 normal", F64, NORMAL },
	{ "float64 exponential", F64, EXPONENTIAL },
	{ "float64 gamma", F64, GAMMA },
	{ "particles", PARTICLES, 0 },
};

static void
make(unsigned kind, uint8_t *p, size_t n)
{
	struct maker m = { .state = kind };

	switch (kinds[kind].shape) {
	case ZERO:
		memset(p, 0, n);
		break;
	case TEXT:
		put_text(&m, p, n);
		break;
	case RANDOM:
		put_random(&m, p, n);
		break;
	case PARTICLES:
		put_particles(&m, p, n);
		break;
	default:
		put_numbers(&m, kinds[kind].shape, kinds[kind].number, p, n);
	}
}

/* Room for one more, of n bytes; NULL: no memory. */
static struct spw_profile_data *
add(struct spw_profile_set *set, const char *name, size_t n)
{
	struct spw_profile_data *d;

	if (set->n == set->room) {
		unsigned room = 2 * set->room + 16;

		d = realloc(set->at, room * sizeof(*d));
		if (!d)
			return NULL;
		set->at = d;
		set->room = room;
	}
	d = &set->at[set->n];
	*d = (struct spw_profile_data){ .n = n, .bytes = malloc(n) };
	if (!d->bytes)
		return NULL;
	snprintf(d->name, sizeof(d->name), "%s", name);
	set->n++;
	return d;
}

int
spw_profile_generate(struct spw_profile_set *set)
{
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct spw_profile_data *d = add(set, kinds[i].name,
						 SPW_PROFILE_PIECE);

		if (!d)
			return -ENOMEM;
		make(i, d->bytes, d->n);
		spw_analyze(d->bytes, d->n, 1 << 20, NULL, &d->traits);
	}
	return 0;
}

/* The end of a name is what tells files apart. */
static const char *
short_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t n = strlen(name);

	return n > NAME_SHOWN ? name + n - NAME_SHOWN : name;
}

static int
read_piece(struct spw_profile_set *set, int fd, const char *path,
	   uint64_t at, size_t n)
{
	struct spw_profile_data *d = add(set, short_name(path), n);
	ssize_t got;

	if (!d)
		return -ENOMEM;
	got = pread(fd, d->bytes, n, (off_t)at);
	if (got != (ssize_t)n) {
		free(d->bytes);
		set->n--;
		return got < 0 ? -errno : -EIO;
	}
	spw_analyze(d->bytes, d->n, at, NULL, &d->traits);
	return 0;
}

static int
read_pieces(struct spw_profile_set *set, int fd, const char *path)
{
	size_t n = SPW_PROFILE_PIECE;
	unsigned pieces = SPW_PROFILE_PIECES;
	struct stat st;
	int r = 0;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size < SPW_QUANTUM)
		return -ENODATA;
	if ((size_t)st.st_size < pieces * n) {
		pieces = 1;
		n = (size_t)st.st_size < n ? (size_t)st.st_size : n;
	}
	for (unsigned i = 0; i < pieces && !r; i++)
		r = read_piece(set, fd, path, i ? (uint64_t)(st.st_size - (off_t)n)
			       / (pieces - 1) * i / SPW_QUANTUM * SPW_QUANTUM
			       : 0, n);
	return r;
}

int
spw_profile_read(struct spw_profile_set *set, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r;

	if (fd < 0)
		return -errno;
	r = read_pieces(set, fd, path);
	close(fd);
	return r;
}

void
spw_profile_forget(struct spw_profile_set *set)
{
	for (unsigned i = 0; i < set->n; i++)
		free(set->at[i].bytes);
	free(set->at);
	*set = (struct spw_profile_set){ .n = 0 };
}
