/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-object-samples.c -- objects of old read as on the day they were made */

/* The samples are in tests/corpus/objects; what is in each is told below. A
 * sample is never made again: if this test fails, the code is wrong. Given a
 * directory, it writes those samples that are not there, for a new line of
 * the table.
 */

#include <fcntl.h>
#include <sys/stat.h>

#include "tests/unit-object.h"

#define ROOM (1u << 16)
#define PACKS 3
#define FILTERED(id, bytes) \
	{ .codec = SPW_CODEC_LZ4, .level = 3, .filter = id, .width = bytes }

static const struct sample {
	const char *name;
	uint32_t length, block_size;
	uint32_t flags;
	uint64_t cut;
	struct spw_object_pack packs[PACKS];
} samples[] = {
	{ "v1-note", 0, 0, SPW_OBJECT_SYNC, 4097, { { 0 } } },
	{ "v1-raw", 1000, 0, SPW_OBJECT_WHOLE, UINT64_MAX, { { 0 } } },
	{ "v1-raw-blocks", 9000, 4096, 0, UINT64_MAX, { { 0 } } },
	{ "v1-lz4", 9000, 4096, SPW_OBJECT_WHOLE, UINT64_MAX,
	  { { .codec = SPW_CODEC_LZ4, .level = 1 } } },
	{ "v1-zstd", 9000, 4096, SPW_OBJECT_WHOLE, UINT64_MAX,
	  { { .codec = SPW_CODEC_ZSTD, .level = 3 } } },
	{ "v1-brotli", 9000, 4096, SPW_OBJECT_WHOLE, UINT64_MAX,
	  { { .codec = SPW_CODEC_BROTLI, .level = 2 } } },
	{ "v1-mixed", 16000, 4096, SPW_OBJECT_WHOLE, 0,
	  { { .codec = SPW_CODEC_LZ4, .level = -4, .nblocks = 1 },
	    { .codec = SPW_CODEC_ZSTD, .level = 1, .nblocks = 2 },
	    { .codec = SPW_CODEC_BROTLI, .level = 5 } } },
	{ "v1-deflate", 9000, 4096, SPW_OBJECT_WHOLE, UINT64_MAX,
	  { { .codec = SPW_CODEC_DEFLATE, .level = 6 } } },
	{ "v1-lzma", 9000, 4096, SPW_OBJECT_WHOLE, UINT64_MAX,
	  { { .codec = SPW_CODEC_LZMA, .level = 1 } } },
	{ "v1-shuffle", 9000, 4096, SPW_OBJECT_WHOLE, UINT64_MAX,
	  { FILTERED(SPW_FILTER_SHUFFLE, 4) } },
	{ "v1-bitshuffle", 9000, 4096, SPW_OBJECT_WHOLE, UINT64_MAX,
	  { FILTERED(SPW_FILTER_BITSHUFFLE, 12) } },
	{ "v1-delta", 9000, 4096, SPW_OBJECT_WHOLE, UINT64_MAX,
	  { FILTERED(SPW_FILTER_DELTA, 2) } },
	{ "v1-xor", 9000, 4096, SPW_OBJECT_WHOLE, UINT64_MAX,
	  { FILTERED(SPW_FILTER_XOR, 8) } },
	{ "v1-delta-shuffle", 9000, 4096, SPW_OBJECT_WHOLE, UINT64_MAX,
	  { FILTERED(SPW_FILTER_DELTA_SHUFFLE, 8) } },
	{ "v1-xor-shuffle", 9000, 4096, SPW_OBJECT_WHOLE, UINT64_MAX,
	  { FILTERED(SPW_FILTER_XOR_SHUFFLE, 4) } },
	{ "v1-delta-bitshuffle", 9000, 4096, SPW_OBJECT_WHOLE, UINT64_MAX,
	  { FILTERED(SPW_FILTER_DELTA_BITSHUFFLE, 1) } },
};

static struct spw_packer *packer;
static _Alignas(64) uint8_t object[ROOM], made[ROOM];
static uint8_t data[ROOM], out[ROOM];

static struct spw_object
head_of(const struct sample *s)
{
	struct spw_object o = object_of(s->length, s->block_size);

	o.flags = s->flags;
	o.cut = s->cut;
	o.home_time = 0;		/* they are older than it is */
	return o;
}

static int64_t
make_sample(const struct sample *s)
{
	struct spw_object o = head_of(s);

	return spw_object_encode(packer, &o, s->packs, made, ROOM, data);
}

static void
check_head(const struct sample *s, const struct spw_object *o)
{
	struct spw_object want = head_of(s);

	CHECK(o->dev == want.dev && o->ino == want.ino);
	CHECK(o->btime == want.btime && o->wtime == want.wtime);
	CHECK(o->home_time == want.home_time);
	CHECK(o->offset == want.offset && o->length == want.length);
	CHECK(o->seq == want.seq && o->file_size == want.file_size);
	CHECK(o->cut == want.cut && o->flags == want.flags);
	CHECK(o->path_len == want.path_len);
	CHECK(!memcmp(o->path, want.path, want.path_len));
	CHECK(o->block_size == (want.block_size ? want.block_size : 131072));
}

/* Every codec that is named was used, and kept its number and level. The
 * third page does not shrink. */
static void
check_index(const struct sample *s, const struct spw_object *o)
{
	const struct spw_object_pack *pack = s->packs, raw = { 0 };
	uint32_t i, of_pack = 0;

	for (i = 0; i < o->nblocks; i++) {
		const struct spw_object_block *b = &o->blocks[i];
		const struct spw_object_pack *as = i == 2 ? &raw : pack;

		CHECK(b->codec == as->codec);
		CHECK((int8_t)b->level == as->level);
		CHECK(b->filter == as->filter && b->width == as->width);
		if (++of_pack == pack->nblocks) {
			pack++;
			of_pack = 0;
		}
	}
}

static bool
is_raw(const struct sample *s)
{
	return s->packs[0].codec == SPW_CODEC_NONE;
}

static bool
can_unpack(const struct sample *s)
{
	size_t i;

	for (i = 0; i < PACKS; i++)
		if (!spw_codec_by_id(s->packs[i].codec))
			return false;
	return true;
}

static size_t
load(const char *dir, const char *name)
{
	char path[4096];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	if (!f)
		fprintf(stderr, "%s: not there\n", path);
	CHECK(f);
	n = fread(object, 1, ROOM, f);
	fclose(f);
	return n;
}

static void
check_sample(const char *dir, const struct sample *s)
{
	size_t n = load(dir, s->name);
	struct spw_object o = parse_whole(object, n);
	struct spw_object_part part;
	uint64_t bad;

	check_head(s, &o);
	check_index(s, &o);
	if (!can_unpack(s))
		return;
	spw_object_part(&o, 0, s->length, &part);
	CHECK(spw_object_decode(packer, &o, &part, object + part.at, out,
				&bad) == 0);
	CHECK(!memcmp(out, data, s->length));
	if (is_raw(s))
		CHECK(make_sample(s) == (int64_t)n &&
		      !memcmp(made, object, n));
	printf("%s: %zu bytes\n", s->name, n);
}

static void
write_missing(const char *dir, const struct sample *s)
{
	char path[4096];
	int64_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, s->name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 && errno == EEXIST)
		return;
	CHECK(fd >= 0);
	n = make_sample(s);
	CHECK(n > 0 && write(fd, made, (size_t)n) == n);
	CHECK(close(fd) == 0);
	printf("%s: written\n", path);
}

int
main(int argc, char **argv)
{
	const char *srcdir = getenv("srcdir");
	int absent = load_codecs("unit-object-samples");
	char dir[3072];
	size_t i;

	fill_object(data, sizeof(data));
	CHECK(spw_packer_new(&packer) == 0);
	snprintf(dir, sizeof(dir), "%s/tests/corpus/objects",
		 srcdir ? srcdir : ".");
	for (i = 0; i < ARRAY_LEN(samples); i++)
		if (argc > 1)
			write_missing(argv[1], &samples[i]);
		else
			check_sample(dir, &samples[i]);
	spw_packer_free(packer);
	return absent ? 77 : 0;		/* those present were read */
}
