/* SPDX-License-Identifier: BSD-3-Clause */
/* unit-native.c -- bytes in memory are packed and come back, or are refused */

#include "planner/buffer.h"
#include "shm/spillway.h"
#include "tests/analyze-data.h"
#include "tiers/codec.h"

#include <errno.h>
#include <pthread.h>

enum { MOST = (2 << 20) + 4097 };

static const struct data_class *
find(const char *name)
{
	size_t i = 0;

	while (strcmp(data_classes[i].name, name))
		CHECK(++i < ARRAY_LEN(data_classes));
	return &data_classes[i];
}

struct buffers { uint8_t *data, *packed, *back; size_t room; };

static struct buffers
buffers_new(void)
{
	struct buffers b = { .room = spillway_compress_bound(MOST) };

	b.data = malloc(MOST);
	b.packed = malloc(b.room + 8);
	b.back = malloc(MOST);
	CHECK(b.data && b.packed && b.back && b.room > MOST);
	return b;
}

static void
buffers_free(struct buffers *b)
{
	free(b->data);
	free(b->packed);
	free(b->back);
}

/* Bytes that n of the data take. */
static size_t
round_trip(const struct buffers *b, size_t n)
{
	size_t bound = spillway_compress_bound(n);
	ssize_t r = spillway_compress(b->packed, bound, b->data, n);

	CHECK(r > 0 && (size_t)r <= bound);
	CHECK(spillway_decompressed_size(b->packed, (size_t)r) == (ssize_t)n);
	memset(b->back, 0x5a, n);
	CHECK(spillway_decompress(b->back, n, b->packed, (size_t)r) ==
	      (ssize_t)n);
	CHECK(!memcmp(b->back, b->data, n));
	return (size_t)r;
}

static void
test_kinds(struct buffers *b)
{
	for (size_t i = 0; i < ARRAY_LEN(data_classes); i++) {
		const struct data_class *c = &data_classes[i];
		uint64_t seed = i;
		size_t n;

		c->fill(c, b->data, MOST, &seed);
		n = round_trip(b, MOST);
		printf("%-16s %5.1f %%\n", c->name, 100.0 * (double)n / MOST);
		if (spw_codec_pool(1)) {	/* there is a library */
			CHECK(c->want.kind != SPW_DATA_TEXT || n < MOST * 0.7);
			CHECK(c->want.kind != SPW_DATA_ZERO || n < MOST / 50);
		}
		CHECK(n < MOST + 2048);
	}
}

static void
test_sizes(struct buffers *b)
{
	static const size_t sizes[] = {
		0, 1, 2, 63, 1023, 4095, 4096, 4097, 65535, 131072, 131073,
		1048575, 1048576, 1048577, MOST,
	};
	uint8_t *packed = b->packed;
	uint64_t seed = 7;

	find("table")->fill(find("table"), b->data, MOST, &seed);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		b->packed = packed + i % 8;	/* any alignment */
		(void)round_trip(b, sizes[i]);
	}
	b->packed = packed;
	CHECK(spillway_compress_bound(SIZE_MAX) == 0);
	errno = 0;
	CHECK(spillway_compress(packed, 9, b->data, SIZE_MAX) == -1);
	CHECK(errno == EINVAL);
}

static bool
refuses(const struct buffers *b, size_t cap, const void *src, size_t n,
	int error)
{
	errno = 0;
	return spillway_decompress(b->back, cap, src, n) == -1 &&
	       errno == error;
}

/* Room that is not enough, and bytes that are not all there, or too many. */
static void
test_ends(struct buffers *b)
{
	size_t n, half;

	n = round_trip(b, MOST);
	CHECK(refuses(b, MOST - 1, b->packed, n, ENOSPC));
	CHECK(refuses(b, 0, b->packed, n, ENOSPC));
	for (size_t cut = 0; cut < n; cut += cut < 400 ? 1 : 9973)
		CHECK(refuses(b, MOST, b->packed, cut, EBADMSG));
	b->packed[n] = 0;
	CHECK(refuses(b, MOST, b->packed, n + 1, EBADMSG));
	errno = 0;
	CHECK(spillway_decompressed_size(b->packed, n + 1) == -1);
	CHECK(errno == EBADMSG);
	errno = 0;
	/* What was learned since may pack smaller, but not so small. */
	CHECK(spillway_compress(b->packed, n / 8, b->data, MOST) == -1);
	CHECK(errno == ENOSPC);
	/* twice the same is not twice as much */
	half = round_trip(b, 1000);
	memcpy(b->packed + half, b->packed, half);
	CHECK(refuses(b, MOST, b->packed, 2 * half, EBADMSG));
}

static void
test_damage(struct buffers *b)
{
	size_t n = round_trip(b, 200000);
	uint64_t seed = 3;

	for (size_t i = 0; i < 3000; i++) {
		size_t at = i < 512 ? i : draw(&seed) % n;
		uint8_t was = b->packed[at];

		if (at >= n)
			break;
		b->packed[at] ^= (uint8_t)(1u << i % 8);
		CHECK(refuses(b, MOST, b->packed, n, EBADMSG));
		b->packed[at] = was;
	}
	for (size_t i = 0; i < 200; i++) {
		for (size_t k = 0; k < 300; k++)
			b->packed[k] = (uint8_t)draw(&seed);
		CHECK(refuses(b, MOST, b->packed, i, EBADMSG));
	}
}

/* Pieces in another order, or of another buffer, are not taken. */
static void
test_pieces(struct buffers *b)
{
	const size_t piece = SPW_BUFFER_PIECE, two = 2 * piece;
	struct spw_object o;
	size_t n, first, need;
	uint8_t *head;
	uint64_t seed = 1;

	find("random")->fill(find("random"), b->data, MOST, &seed);
	n = round_trip(b, two);
	head = aligned_alloc(64, 1 << 20);
	CHECK(head);
	memcpy(head, b->packed, 1024);
	CHECK(!spw_object_parse(head, 1024, &o, &need));
	first = o.stored;
	free(head);
	CHECK(refuses(b, MOST, b->packed, first, EBADMSG));
	CHECK(refuses(b, MOST, b->packed + first, n - first, EBADMSG));
	memmove(b->packed + first, b->packed, first);
	CHECK(refuses(b, MOST, b->packed, 2 * first, EBADMSG));
	/* the second piece of a buffer that is another in the first */
	n = round_trip(b, two);
	head = malloc(n);
	CHECK(head);
	memcpy(head, b->packed, n);
	b->data[5] ^= 1;
	CHECK(round_trip(b, two) == n);
	memcpy(b->packed + first, head + first, n - first);
	CHECK(refuses(b, MOST, b->packed, n, EBADMSG));
	free(head);
}

static ssize_t
pack_as(const struct buffers *b, size_t n, const struct spillway_data *is)
{
	size_t room = spillway_compress_bound(n);
	ssize_t r = spillway_compress_as(b->packed, room, b->data, n, is);

	if (r < 0)
		return r;
	CHECK(spillway_decompress(b->back, n, b->packed, (size_t)r) ==
	      (ssize_t)n);
	CHECK(!memcmp(b->back, b->data, n));
	return r;
}

/* Counters, and noise where the analyzer looks: it takes them for noise. */
static void
test_label(struct buffers *b)
{
	enum { N = 1 << 20 };
	const struct data_class *counter = find("i32 counter");
	const struct data_class *noise = find("random");
	struct spillway_data is = {
		.size = sizeof(is), .kind = SPILLWAY_DATA_INTEGER, .width = 4,
		.stream = 5,
	};
	ssize_t guessed, told;
	uint64_t seed = 3;

	counter->fill(counter, b->data, N, &seed);
	noise->fill(noise, b->data + N / 4, 8192, &seed);
	noise->fill(noise, b->data + N / 8 * 5, 8192, &seed);
	guessed = pack_as(b, N, NULL);
	told = pack_as(b, N, &is);
	printf("guessed %zd, told %zd of %d bytes\n", guessed, told, N);
	CHECK(told * 2 < guessed);
	is.kind = SPILLWAY_DATA_PACKED;	/* what is said counts, */
	is.width = 0;
	CHECK(pack_as(b, N, &is) > told * 2);
	is.kind = SPILLWAY_DATA_UNKNOWN;	/* if something is */
	CHECK(pack_as(b, N, &is) > told * 2);
}

static void
test_bad_labels(struct buffers *b)
{
	const uint32_t whole = sizeof(struct spillway_data);
	const struct spillway_data bad[] = {
		{ .size = 0 }, { .size = whole + 8 },
		{ .size = whole, .kind = 6 },
		{ .size = whole, .kind = SPILLWAY_DATA_FLOAT },
		{ .size = whole, .kind = SPILLWAY_DATA_FLOAT, .width = 3 },
		{ .size = whole, .kind = SPILLWAY_DATA_FLOAT, .width = 16 },
		{ .size = whole, .kind = SPILLWAY_DATA_FLOAT, .width = 8,
		  .record = 4 },
		{ .size = whole, .kind = SPILLWAY_DATA_TEXT, .width = 4 },
		{ .size = whole, .big_endian = 2 },
		{ .size = whole, .reserved = 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		errno = 0;
		CHECK(pack_as(b, 1000, &bad[i]) == -1 && errno == EINVAL);
	}
}

/* More kinds than are told apart: what was learned of others does not fit. By
 * a thread that knows nothing yet.
 */
static void *
label_many(void *arg)
{
	struct buffers *b = arg;
	struct spillway_data is = {
		.size = sizeof(is), .kind = SPILLWAY_DATA_INTEGER, .width = 4,
	};
	uint64_t seed = 11;

	for (size_t i = 0; i < 20000; i++)
		b->data[i] = i % 4 ? 0 : (uint8_t)draw(&seed);
	for (unsigned i = 0; i < 2 * 300; i++) {
		is.record = 4 + i / 2;
		is.big_endian = i % 2;
		CHECK(pack_as(b, 20000, &is) > 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(data_classes); i++) {
		data_classes[i].fill(&data_classes[i], b->data, 20000, &seed);
		CHECK(pack_as(b, 20000, NULL) > 0);
		CHECK(pack_as(b, 1200, NULL) > 0);	/* without a trial */
	}
	return NULL;
}

static void
test_many_labels(struct buffers *b)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, label_many, b));
	CHECK(!pthread_join(thread, NULL));
}

static void
test_weights(struct buffers *b)
{
	static const char *const bad[] = { "", "fast", "0.5,0.5,0.5", "1,1" };
	uint64_t seed = 2;
	size_t quick, small;

	find("table")->fill(find("table"), b->data, MOST, &seed);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		errno = 0;
		CHECK(spillway_weigh(bad[i]) == -1 && errno == EINVAL);
	}
	CHECK(spillway_weigh(NULL) == -1 && errno == EINVAL);
	CHECK(!spillway_weigh("async"));
	quick = round_trip(b, MOST);
	CHECK(!spillway_weigh("archive"));
	(void)round_trip(b, MOST);
	small = round_trip(b, MOST);
	printf("async %zu, archive %zu of %d bytes\n", quick, small, MOST);
	CHECK(small < quick);
	CHECK(small < MOST / 4 || !spw_codec_by_id(SPW_CODEC_ZSTD));
	CHECK(!spillway_weigh("0.3,0.4,0.3"));
	(void)round_trip(b, MOST);
	CHECK(!spillway_weigh("balanced"));
}

static void *
work(void *arg)
{
	size_t first = *(const size_t *)arg;
	struct buffers b = buffers_new();

	for (size_t i = 0; i < 12; i++) {
		const struct data_class *c =
			&data_classes[(first + i * 5) %
				      ARRAY_LEN(data_classes)];
		uint64_t seed = first + i;

		CHECK(!spillway_weigh(i % 2 ? "async" : "balanced"));
		c->fill(c, b.data, 300000, &seed);
		(void)round_trip(&b, 300000);
	}
	buffers_free(&b);
	return NULL;
}

static void
test_threads(void)
{
	pthread_t thread[4];
	size_t first[4];

	for (size_t i = 0; i < 4; i++) {
		first[i] = i * 7;
		CHECK(!pthread_create(&thread[i], NULL, work, &first[i]));
	}
	for (size_t i = 0; i < 4; i++)
		CHECK(!pthread_join(thread[i], NULL));
}

int
main(void)
{
	struct buffers b;

	setenv("SPILLWAY_SEED", "/dev/null", 1);
	setenv("SPILLWAY_CONFIG", "/dev/null", 1);
	b = buffers_new();
	test_kinds(&b);
	test_sizes(&b);
	test_ends(&b);
	test_damage(&b);
	test_pieces(&b);
	test_label(&b);
	test_bad_labels(&b);
	test_many_labels(&b);
	test_weights(&b);
	test_threads();
	buffers_free(&b);
	return 0;
}
