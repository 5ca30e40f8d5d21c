/* SPDX-License-Identifier: BSD-3-Clause */
/* tier-kit.c -- makes, checks, puts and counts objects */

#include "tests/tier-kit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <string.h>

#include "shm/util.h"
#include "tests/guarded.h"

static const char path[] = "/scratch/run/checkpoint.0001";

static void
fill(void *buf, uint64_t seq, size_t raw)
{
	uint64_t state = seq * 977, word;
	size_t i;

	for (i = 0; i < raw; i += sizeof(word)) {
		word = draw(&state);
		memcpy((char *)buf + i, &word, SPW_MIN(raw - i, sizeof(word)));
	}
}

void *
kit_buffer(void)
{
	size_t room = spw_object_bound(sizeof(path), KIT_MOST);
	void *buf;

	CHECK(!posix_memalign(&buf, SPW_TIER_ALIGN, room + SPW_TIER_ALIGN));
	return buf;
}

size_t
kit_make(void *buf, uint64_t seq, size_t raw)
{
	struct spw_object o = {
		.dev = 1, .ino = 2, .offset = seq * 4096, .length = raw,
		.seq = seq, .file_size = seq * 4096 + raw, .cut = UINT64_MAX,
		.path = path, .path_len = sizeof(path) - 1,
	};
	static struct spw_packer *packer;
	static char src[KIT_MOST];
	int64_t len;

	if (!packer)
		CHECK(!spw_packer_new(&packer));
	fill(src, seq, raw);
	len = spw_object_encode(packer, &o, NULL, buf,
				spw_object_bound(sizeof(path), raw), src);
	CHECK(len > 0);
	return (size_t)len;
}

void
kit_check(const void *buf, size_t len, uint64_t seq, size_t raw)
{
	static void *same;

	if (!same)
		same = kit_buffer();
	CHECK(kit_make(same, seq, raw) == len);
	CHECK(!memcmp(same, buf, len));
}

static void
carry(struct spw_tier *t, struct spw_transfer *x)
{
	CHECK(!t->ops->submit(t, x));
	CHECK(t->ops->reap(t, true) == x);
	CHECK(x->err == 0);
}

uint64_t
kit_put(struct spw_tier *t, void *buf, size_t len)
{
	struct spw_transfer x = { .buf = buf, .len = len };

	carry(t, &x);
	return x.place;
}

void
kit_get(struct spw_tier *t, uint64_t place, void *buf, size_t len)
{
	struct spw_transfer x = { .up = true, .place = place, .buf = buf,
				  .len = len };

	memset(buf, 0x55, len);
	carry(t, &x);
}

char *
kit_directory(const char *below)
{
	char *dir = malloc(PATH_MAX);

	CHECK(dir);
	CHECK(snprintf(dir, PATH_MAX, "%s/tier-test.XXXXXX", below) <
	      PATH_MAX);
	if (!mkdtemp(dir)) {
		free(dir);
		return NULL;
	}
	return dir;
}

static int
remove_one(const char *name, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(name);
}

void
kit_remove(char *dir)
{
	CHECK(!nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS));
	free(dir);
}

int
kit_open(const char *kind, const char *place, const char *owner,
	 uint64_t capacity, struct spw_tier **ret_tier)
{
	struct spw_tier_setup setup = { .place = place, .owner = owner,
					.capacity = capacity, .create = true };
	const struct spw_tier_ops *ops = spw_tier_by_kind(kind);

	CHECK(ops);
	return ops->open(&setup, ret_tier);
}

static char *
make_place(void)
{
	char *dir = kit_directory("."), *place;

	CHECK(dir);
	place = realpath(dir, NULL);
	CHECK(place);
	free(dir);
	return place;
}

bool
kit_is_to_be_had(const char *kind, uint64_t capacity)
{
	char *place = make_place();
	struct spw_tier *t;
	int r = kit_open(kind, place, "x", capacity, &t);

	CHECK(r == 0 || r == -ELIBACC);
	if (r == 0)
		CHECK(t->ops->close(t, true) == 0);
	kit_remove(place);
	return r == 0;
}

void
kit_run(const char *kind, const char *name, void (*test)(void), char **place)
{
	*place = make_place();
	printf("%s: %s\n", kind, name);
	fflush(stdout);
	test();
	kit_remove(*place);
}

static int
count(void *arg, const struct spw_tier_found *f)
{
	struct kit_count *c = arg;

	c->whole += f->err == 0;
	c->bad += f->err != 0;
	c->bytes += f->len;
	c->whole_bytes += f->err ? 0 : f->len;
	CHECK(f->where && f->where[0]);
	return 0;
}

struct kit_count
kit_count(struct spw_tier *t)
{
	struct kit_count c = { 0 };

	CHECK(!t->ops->list(t, count, &c));
	return c;
}

void
kit_half_discarded(const char *kind, const char *place)
{
	struct spw_tier_setup setup = { .place = place, .owner = "half",
					.look_only = true };
	char path[PATH_MAX];
	struct spw_tier *t;
	void *buf = kit_buffer();

	CHECK(!kit_open(kind, place, "half", 1 << 20, &t));
	(void)kit_put(t, buf, kit_make(buf, 1, 5000));
	CHECK(kit_count(t).whole == 1);
	CHECK(!t->ops->close(t, false));
	CHECK(snprintf(path, sizeof(path), "%s/spillway-%u/half/%s.gone",
		       place, (unsigned)geteuid(), kind) < PATH_MAX);
	CHECK(close(open(path, O_WRONLY | O_CREAT, 0600)) == 0);
	CHECK(!spw_tier_by_kind(kind)->open(&setup, &t));
	CHECK(kit_count(t).whole == 0);
	CHECK(!t->ops->close(t, false));
	CHECK(!kit_open(kind, place, "half", 1 << 20, &t));
	CHECK(kit_count(t).whole == 0 && access(path, F_OK) < 0);
	(void)kit_put(t, buf, kit_make(buf, 2, 5000));
	CHECK(kit_count(t).whole == 1);
	CHECK(!t->ops->close(t, true));
	free(buf);
}
