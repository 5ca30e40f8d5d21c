/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz-native.c -- whatever is unpacked, it stays inside its buffers */

/* First byte, modulo three, what to do with the rest:
 *   0: it is unpacked as it is;
 *   1: the same, with the sum of its first head made right, so that what is
 *      behind it is reached;
 *   2: two bytes of position, one of change; the rest is packed, must come
 *      back, and must not come back with that byte changed.
 * Built with SPW_REPLAY it runs over the files named, or over the corpus.
 */

#include <errno.h>
#include <string.h>

#include "shm/crc32c.h"
#include "shm/spillway.h"
#include "tests/guarded.h"
#include "tiers/object-layout.h"

#define LARGEST 65535u
#define RAW_MOST (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct guarded packed, raw;

static void
start(void)
{
	if (packed.map)
		return;
	setenv("SPILLWAY_SEED", "/dev/null", 1);
	setenv("SPILLWAY_CONFIG", "/dev/null", 1);
	packed = guarded_new(spillway_compress_bound(LARGEST));
	raw = guarded_new(RAW_MOST);
}

static void
seal(uint8_t *p, size_t n)
{
	const size_t from = offsetof(struct spw_object_head, version);
	struct spw_object_head head;

	if (n < sizeof(head))
		return;
	memcpy(p, SPW_OBJECT_MAGIC, sizeof(head.magic));
	memcpy(&head, p, sizeof(head));
	if (head.size < sizeof(head) || head.size > n)
		return;
	head.crc = spw_crc32c(0, p + from, head.size - from);
	memcpy(p + offsetof(struct spw_object_head, crc), &head.crc,
	       sizeof(head.crc));
}

static void
unpack(const uint8_t *data, size_t n, bool sealed)
{
	uint8_t *in = memcpy(guarded_buf(&packed, n), data, n);
	ssize_t size, r;

	if (sealed)
		seal(in, n);
	size = spillway_decompressed_size(in, n);
	CHECK(size >= 0 || errno == EBADMSG);
	r = spillway_decompress(guarded_buf(&raw, RAW_MOST), RAW_MOST, in, n);
	CHECK(r <= (ssize_t)RAW_MOST);
	CHECK(r < 0 || r == size);
	CHECK(r >= 0 || errno == EBADMSG || errno == ENOSPC ||
	      errno == ENOTSUP);
}

static void
pack_and_damage(const uint8_t *data, size_t n)
{
	size_t room, at;
	uint8_t *out;
	ssize_t r;

	if (n < 3)
		return;
	room = spillway_compress_bound(n - 3);
	out = guarded_buf(&packed, room);
	r = spillway_compress(out, room, data + 3, n - 3);
	CHECK(r > 0);
	CHECK(spillway_decompress(guarded_buf(&raw, n - 3), n - 3, out,
				  (size_t)r) == (ssize_t)(n - 3));
	CHECK(!memcmp(guarded_buf(&raw, n - 3), data + 3, n - 3));
	at = (data[0] | (size_t)data[1] << 8) % (size_t)r;
	out[at] ^= data[2];
	if (data[2])
		CHECK(spillway_decompress(guarded_buf(&raw, n - 3), n - 3,
					  out, (size_t)r) == -1);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	if (n < 1 || n > LARGEST)
		return 0;
	start();
	if (data[0] % 3 == 2)
		pack_and_damage(data + 1, n - 1);
	else
		unpack(data + 1, n - 1, data[0] % 3);
	return 0;
}

#ifdef SPW_REPLAY

#include "tests/replay.h"

int
main(int argc, char **argv)
{
	replay(argc, argv, "native", LARGEST);
	return 0;
}

#endif
