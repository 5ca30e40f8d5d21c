/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz-segment.c -- a damaged segment is refused or handled, never followed */

/*
 * A segment with files, dirty blocks and dead lanes is made once and kept as
 * a sample. An input is a list of changes to a copy of it: words of any table,
 * bytes of the header, header fields under a correct checksum. Then it is
 * attached, looked at and recovered as the command would. It may be refused;
 * it must not crash, hang, or write to a file that it does not name.
 *
 * Beacons are left as they are: a mutex that says it is held by a thread
 * looks just like one that is.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "planner/drain.h"
#include "shm/crc32c.h"
#include "shm/files.h"
#include "shm/lane.h"
#include "shm/sys.h"
#include "shm/util.h"
#include "tests/crash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { HANG_SECONDS = 20, SAMPLE_STEPS = 150, DEAD = 3 };

struct change {				/* one of an input's */
	uint8_t where, how;
	uint16_t word;
	uint32_t item, value;
} __attribute__((packed));

static char dir[64], path[SPW_SEG_PATH_MAX];
static uint8_t *sample;			/* all but the slots */
static uint64_t sample_len, file_len;
static struct spw_seg_fixed fixed;

static void
tidy_up(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (dir[0] && system(command))
		perror(dir);
}

static void
give_up(const char *what)
{
	perror(what);
	exit(1);
}

static void
write_and_die(struct spw_map *map, struct crash_ledger *l, int no)
{
	struct crash_door *door = chdir(dir) < 0 ? NULL
				  : crash_core_door(map, no);

	if (door)
		door->visit = NULL;	/* it waits for a drainer */
	for (int i = 0; door && i < SAMPLE_STEPS; i++)
		(void)crash_step(l, no, door);
	raise(SIGKILL);
}

static void
fill_segment(struct spw_map *map)
{
	struct crash_ledger *l = crash_ledger_new();

	for (int i = 0; i < DEAD; i++) {
		pid_t pid = fork();

		l->writer[i].rng = (uint64_t)i;
		if (pid == 0)
			write_and_die(map, l, i);
		waitpid(pid, NULL, 0);
	}
	munmap(l, sizeof(*l));
}

static void
make_sample(void)
{
	struct spw_seg_request req = {
		.dir = dir, .job = "sample", .bytes = 8 << 20,
	};
	struct spw_map map;

	snprintf(dir, sizeof(dir), "/dev/shm/spillway-fuzz.XXXXXX");
	if (!mkdtemp(dir))
		give_up("mkdtemp");
	atexit(tidy_up);
	if (spw_seg_create(&req, &map) < 0)
		give_up("segment");
	fill_segment(&map);
	fixed = map.seg->fixed;
	file_len = fixed.size;
	sample_len = fixed.tables[SPW_POOL_SLOTS].items_off;
	sample = malloc(sample_len);
	if (!sample)
		give_up("malloc");
	memcpy(sample, map.base, sample_len);
	snprintf(path, sizeof(path), "%s", map.path);
	spw_seg_detach(&map);
}

/* Puts the sample back; pages that are zero in both are not touched. */
static uint8_t *
restore(void)
{
	int fd = open(path, O_RDWR);
	uint8_t *at;

	if (fd < 0 || ftruncate(fd, (off_t)file_len) < 0)
		give_up(path);
	at = mmap(NULL, file_len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		give_up("mmap");
	for (uint64_t i = 0; i < sample_len; i += 4096)
		if (memcmp(at + i, sample + i, 4096) != 0)
			memcpy(at + i, sample + i, 4096);
	close(fd);
	return at;
}

static uint32_t
value_of(const struct change *c, uint32_t old)
{
	switch (c->how % 8) {
	case 0: return c->value;
	case 1: return c->value % 4096;
	case 2: return SPW_NONE;
	case 3: return 0;
	case 4: return old ^ 1u << c->value % 32;
	case 5: return SPW_IN_USE | c->value % 4096;
	case 6: return old + 1;
	default: return 1u << c->value % 32;
	}
}

/* Where a change strikes: a word of an item, or SIZE_MAX. */
static uint64_t
place_of(const struct change *c)
{
	const struct spw_table *t = &fixed.tables[c->where % SPW_POOL_COUNT];
	uint64_t ready = SPW_MIN(t->count, 256u);

	switch (c->where / 16 % 8) {
	case 0: case 1: case 2:		/* an item; of lanes, the rest */
		if (c->where % SPW_POOL_COUNT == SPW_POOL_SLOTS)
			return UINT64_MAX;
		if (c->where % SPW_POOL_COUNT == SPW_POOL_LANES)
			return t->items_off + (uint64_t)(c->item % 8) *
			       t->item_size + sizeof(pthread_mutex_t) +
			       c->word * 4u % (t->item_size -
					       sizeof(pthread_mutex_t));
		return t->items_off + c->item % ready * t->item_size +
		       c->word * 4u % t->item_size;
	case 3:
		return t->owners_off + c->item % (2 * ready) * 4;
	case 4:
		return t->bits_off + c->item % (t->count / 32) * 4;
	case 5:
		return c->where & 1 ? fixed.buckets_off +
				      c->item % fixed.nbuckets * 4
				    : fixed.fbuckets_off +
				      c->item % fixed.nfbuckets * 4;
	case 6:
		return c->where & 1 ? fixed.bucket_locks_off +
				      c->item % (fixed.nbuckets / 4) * 4
				    : fixed.dirty_off + c->item %
				      (fixed.tables[SPW_POOL_BLOCKS].count /
				       32) * 4;
	default:			/* the header's changing part */
		return sizeof(struct spw_seg_fixed) + c->item * 4 %
		       (sizeof(struct spw_seg) -
			sizeof(struct spw_seg_fixed));
	}
}

static void
apply(uint8_t *at, const struct change *c)
{
	uint64_t off = place_of(c) & ~3ull;
	uint32_t word;

	if (c->where == 255) {		/* a byte of the fixed part */
		at[c->item % (sizeof(fixed) + 4)] ^= (uint8_t)(1u << c->how %
							       8);
		return;
	}
	if (c->where == 254) {		/* a word of it, checksum right */
		struct spw_seg *seg = (struct spw_seg *)at;

		off = c->item * 4 % sizeof(fixed) & ~3ull;
		memcpy(&word, at + off, 4);
		word = value_of(c, word);
		memcpy(at + off, &word, 4);
		seg->crc = spw_crc32c(0, &seg->fixed, sizeof(seg->fixed));
		return;
	}
	if (off > sample_len - 4)
		return;
	memcpy(&word, at + off, 4);
	word = value_of(c, word);
	memcpy(at + off, &word, 4);
}

/* What status, run and recover do with a segment they find. */
static int
use(void)
{
	struct spw_drain_left left;
	struct spw_counters sum;
	struct spw_drainer *d;
	struct spw_map map;
	char shared[80];
	struct stat st;
	int r = spw_seg_attach(path, &map);

	if (r < 0)
		return r;
	snprintf(shared, sizeof(shared), "%s/shared", dir);
	spw_drainer_left(&map, &left);
	spw_lane_counters(&map, &sum);
	if (stat(shared, &st) == 0)
		(void)spw_file_find(&map, &(struct spw_file_id){ st.st_dev,
								 st.st_ino });
	if (spw_drainer_start(&map, SPW_HOST_RECOVER, &d) == 0) {
		(void)spw_drainer_finish(d, 0);
		spw_drainer_stop(d);
	}
	spw_drainer_left(&map, &left);
	spw_seg_detach(&map);
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct change c;
	uint8_t *at;

	if (!sample)
		make_sample();
	at = restore();
	for (; n >= sizeof(c); data += sizeof(c), n -= sizeof(c)) {
		memcpy(&c, data, sizeof(c));
		apply(at, &c);
	}
	munmap(at, file_len);
	(void)use();
	return 0;
}

#ifdef SPW_REPLAY
static char witness[80];		/* a neighbour of the managed files */
static struct stat before;

static void
place_witness(void)
{
	int fd;

	snprintf(witness, sizeof(witness), "%s/witness", dir);
	fd = open(witness, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || write(fd, "seen", 4) != 4 || fstat(fd, &before) < 0)
		give_up(witness);
	close(fd);
}

static int
flip_each_byte(void)
{
	for (uint64_t i = 0; i < sizeof(fixed) + 4; i++) {
		uint8_t *at = restore();
		int r;

		at[i] ^= 1u << i % 8;
		munmap(at, file_len);
		alarm(HANG_SECONDS);
		r = use();
		if (r != -EBADMSG && r != -EPROTO && r != -EPERM &&
		    r != -ESTALE) {
			printf("byte %lu changed: %d\n", (unsigned long)i, r);
			return 1;
		}
	}
	return 0;
}

static int
shorten(void)
{
	for (uint64_t len = 0; len < file_len; len += file_len / 50 + 1) {
		munmap(restore(), file_len);
		if (truncate(path, (off_t)len) < 0)
			give_up(path);
		if (use() != -EBADMSG) {
			printf("%lu bytes are taken for a segment\n",
			       (unsigned long)len);
			return 1;
		}
	}
	return 0;
}

static void
replay(const char *name)
{
	static uint8_t data[1 << 16];
	int fd = open(name, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, data, sizeof(data));

	if (n < 0)
		give_up(name);
	close(fd);
	alarm(HANG_SECONDS);
	(void)LLVMFuzzerTestOneInput(data, (size_t)n);
}

static int
check_witness(void)
{
	struct stat now;

	if (stat(witness, &now) < 0 || now.st_size != before.st_size ||
	    now.st_mtim.tv_nsec != before.st_mtim.tv_nsec ||
	    now.st_mtim.tv_sec != before.st_mtim.tv_sec) {
		printf("a file that is not the segment's was changed\n");
		return 1;
	}
	return 0;
}

/* replay-segment [FILE...]: inputs from files; without, the header's bytes
 * one by one and then random changes. */
int
main(int argc, char **argv)
{
	static struct change changes[64];
	const char *form = getenv("SPILLWAY_CHECK_LONG");
	const char *seed = getenv("SPILLWAY_CHECK_SEED");
	unsigned runs = form && strcmp(form, "1") == 0 ? 200000 : 2000;
	uint64_t rng = seed ? strtoull(seed, NULL, 0) : 1;

	(void)LLVMFuzzerTestOneInput(NULL, 0);
	place_witness();
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	if (argc > 1)
		return check_witness();
	if (flip_each_byte() || shorten())
		return 1;
	for (unsigned i = 0; i < runs; i++) {
		uint64_t n = 1 + crash_random(&rng) % 40;

		for (uint64_t k = 0; k < n * sizeof(*changes); k++)
			((uint8_t *)changes)[k] =
				(uint8_t)crash_random(&rng);
		alarm(HANG_SECONDS);
		(void)LLVMFuzzerTestOneInput((const uint8_t *)changes,
					     n * sizeof(*changes));
		if (seed)
			printf("%u\n", i);
	}
	if (check_witness())
		return 1;
	printf("%u damaged segments, %u bytes of the header\n", runs,
	       (unsigned)sizeof(fixed) + 4);
	return 0;
}
#endif
