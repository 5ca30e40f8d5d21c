/* SPDX-License-Identifier: BSD-3-Clause */
/* random-ops.c -- does random things to files and knows what must come out */

/*
 *	random-ops [--seed N] [--ops N] [--procs N] [--share disjoint|locked]
 *		[--size BYTES] [--io BYTES] [--align BYTES] [--sparse]
 *		[--modes LIST] [--log FILE | --replay FILE] [--image FILE]
 *		[--check-every N] FILE
 *	random-ops --compare A B
 *
 * Works on FILE and FILE.2 in the working directory. LIST names groups of
 * operations, separated by commas; "all" and -GROUP are understood. At the
 * end it prints the seed and the operations by kind, and, with --image,
 * writes what FILE must hold by now to another place.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/clocks.h"
#include "tests/random-ops.h"

#define KIND(name, group, weight) { #name, group, weight, ro_op_##name, false }
#define SIZER(name, group, weight) { #name, group, weight, ro_op_##name, true }

const struct ro_kind ro_kinds[] = {
	KIND(read, RO_RW, 60), KIND(write, RO_RW, 60),
	KIND(pread, RO_RW, 80), KIND(pwrite, RO_RW, 80),
	KIND(tiny, RO_RW, 60), KIND(verify, RO_RW, 0),
	KIND(readv, RO_VEC, 20), KIND(writev, RO_VEC, 20),
	KIND(preadv, RO_VEC, 20), KIND(pwritev, RO_VEC, 20),
	KIND(preadv2, RO_VEC, 20), KIND(pwritev2, RO_VEC, 20),
	SIZER(append, RO_APPEND, 30), SIZER(appendv, RO_APPEND, 10),
	KIND(seek, RO_SEEK, 30), KIND(seek_data, RO_HOLES, 4),
	KIND(seek_hole, RO_HOLES, 4), SIZER(ftruncate, RO_TRUNC, 12),
	SIZER(truncate, RO_TRUNC, 6), SIZER(open_trunc, RO_TRUNC, 2),
	KIND(fallocate, RO_ALLOC, 4), KIND(punch, RO_ALLOC, 6),
	KIND(zero_range, RO_ALLOC, 4), KIND(mmap_read, RO_MMAP, 6),
	KIND(mmap_write, RO_MMAP, 6), KIND(mmap_held, RO_MMAP, 12),
	KIND(reopen, RO_OPEN, 12), KIND(dup, RO_OPEN, 6),
	KIND(close, RO_OPEN, 6), SIZER(setfl, RO_OPEN, 3),
	KIND(fsync, RO_SYNC, 1), KIND(fdatasync, RO_SYNC, 1),
	KIND(fstat, RO_STAT, 20), KIND(stat, RO_STAT, 20),
	KIND(statx, RO_STAT, 10), KIND(copy, RO_COPY, 5),
	KIND(sendfile, RO_SENDFILE, 3), KIND(stdio_plus, RO_STDIO, 4),
	SIZER(stdio_append, RO_STDIO, 4), KIND(fork, RO_FORK, 2),
	KIND(exec_path, RO_EXEC, 1), KIND(exec_fd, RO_EXEC, 1),
	KIND(spawn, RO_EXEC, 1), KIND(bare, RO_BARE, 1),
	SIZER(rename, RO_NAMES, 4), SIZER(link, RO_NAMES, 3),
	SIZER(unlink, RO_NEW, 3), SIZER(replace, RO_NEW, 2),
	{ NULL, 0, 0, NULL, false },
};

const char *const ro_group_names[RO_GROUPS] = {
	"rw", "vec", "append", "seek", "holes", "trunc", "alloc", "mmap",
	"open", "sync", "stat", "copy", "sendfile", "stdio", "fork", "exec",
	"bare", "names", "new",
};

static uint32_t weights;		/* of the kinds that are on */
static uint64_t check_every;
static const char *image, *log_path, *replay_path;

static bool
is_on(const struct ro_kind *kind)
{
	return ro_run.groups >> kind->group & 1 &&
	       !(ro_run.sized && kind->resizes);
}

static uint32_t
pick(uint64_t r)
{
	uint32_t left = (uint32_t)(r % weights), i;

	for (i = 0; left >= ro_kinds[i].weight || !is_on(&ro_kinds[i]); i++)
		if (is_on(&ro_kinds[i]))
			left -= ro_kinds[i].weight;
	return i;
}

static void
draw(uint64_t *rng, struct ro_op *op)
{
	op->kind = pick(ro_random(rng) >> 20);
	for (int i = 0; i < 4; i++)
		op->r[i] = ro_random(rng);
}

void
ro_describe(int fd, const struct ro_op *op)
{
	dprintf(fd, "%s %016llx %016llx %016llx %016llx\n",
		ro_kinds[op->kind].name, (unsigned long long)op->r[0],
		(unsigned long long)op->r[1], (unsigned long long)op->r[2],
		(unsigned long long)op->r[3]);
}

static void
perform(const struct ro_op *op)
{
	ro_run.tail[ro_run.done++ % RO_TAIL] = *op;
	if (ro_run.log_fd >= 0 && !ro_run.depth)
		ro_describe(ro_run.log_fd, op);
	if (ro_run.locked && !ro_run.depth)
		pthread_mutex_lock(&ro_run.s->lock);
	ro_forget_gone();
	ro_kinds[op->kind].run(&ro_run, op);
	if (ro_run.done % check_every == 0)
		for (uint32_t i = 0; i < (ro_run.sized ? 1 : RO_FILES); i++)
			ro_verify(i);
	if (ro_run.locked && !ro_run.depth)
		pthread_mutex_unlock(&ro_run.s->lock);
	__atomic_fetch_add(&ro_run.s->count[op->kind], 1, __ATOMIC_RELAXED);
}

void
ro_some(uint64_t seed, uint32_t n)
{
	uint64_t rng = seed | 1;
	struct ro_op op;

	while (n--) {
		draw(&rng, &op);
		perform(&op);
	}
}

static uint32_t
kind_named(const char *name)
{
	uint32_t i = 0;

	while (ro_kinds[i].name && strcmp(ro_kinds[i].name, name) != 0)
		i++;
	if (!ro_kinds[i].name)
		ro_fail("no operation is called %s", name);
	return i;
}

static void
replay(void)
{
	FILE *fp = fopen(replay_path, "r");
	unsigned long long r[4];
	char name[32];

	RO_CHECK(fp, replay_path);
	while (fscanf(fp, "%31s %llx %llx %llx %llx", name, &r[0], &r[1],
		      &r[2], &r[3]) == 5) {
		struct ro_op op = { kind_named(name),
				    { r[0], r[1], r[2], r[3] } };

		perform(&op);
	}
	fclose(fp);
}

static void
work(uint64_t seed, uint64_t ops)
{
	struct ro_op op;

	ro_run.rng = seed * 0x9e3779b97f4a7c15ull | 1;
	for (uint64_t i = 0; i < ops && !ro_run.s->failed; i++) {
		draw(&ro_run.rng, &op);
		perform(&op);
	}
}

/* A worker's part of the file begins and ends within blocks. */
static void
be_worker(uint32_t no)
{
	uint64_t share = ro_run.room / ro_run.procs;

	if (ro_run.sized) {
		ro_run.lo = share * no;
		ro_run.hi = no + 1 == ro_run.procs ? ro_run.room
						   : ro_run.lo + share;
	}
	ro_run.desc_lo = 20 + no * 3 * RO_LEVEL;
	ro_run.desc_hi = ro_run.desc_lo + RO_LEVEL;
	work(ro_run.seed * 1000 + no, ro_run.ops / ro_run.procs);
	if (ro_run.sized)
		ro_verify(0);
	ro_close_all(-1);
	_exit(0);
}

static void
run_workers(void)
{
	pid_t pid[RO_PROCS];
	int status, bad = 0;

	for (uint32_t i = 0; i < ro_run.procs; i++) {
		pid[i] = fork();
		RO_CHECK(pid[i] >= 0, "fork");
		if (pid[i] == 0)
			be_worker(i);
	}
	for (uint32_t i = 0; i < ro_run.procs; i++) {
		RO_CHECK(waitpid(pid[i], &status, 0) == pid[i], "waitpid");
		if (status && !bad) {
			bad = status;
			for (uint32_t k = i + 1; k < ro_run.procs; k++)
				kill(pid[k], SIGTERM);
		}
	}
	if (bad)
		ro_fail("a worker ended with status %#x", bad);
	ro_forget_gone();
}

static void *
shared(uint64_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		perror("random-ops: no memory for the model");
		exit(2);
	}
	return p;
}

static void
prepare(const char *name)
{
	struct ro_shared *s = shared(sizeof(*s));
	uint64_t rng = ro_run.seed ^ 0x5eed, n = 2 * ro_run.max_io + 8192;
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&s->lock, &attr);
	ro_run.s = s;
	for (uint32_t i = 0; i < RO_FILES; i++) {
		struct ro_file *f = &s->file[i];

		snprintf(f->path, RO_PATH, "%s%s", name, i ? ".2" : "");
		snprintf(f->other, RO_PATH, "%s%s.other", name,
			 i ? ".2" : "");
		f->bytes = shared(ro_run.room);
		(void)unlink(f->path);		/* of a run that failed */
		(void)unlink(f->other);
	}
	ro_run.pool = shared(n);
	ro_run.buf = malloc((1 << 20) + ro_run.max_io);
	if (!ro_run.buf)
		ro_fail("no memory");
	for (uint64_t i = 0; i + 8 <= n; i += 8) {
		uint64_t word = ro_random(&rng);

		memcpy(ro_run.pool + i, &word, 8);
	}
	for (uint32_t i = 0; i < RO_SLOTS; i++)
		ro_run.slot[i].fd = -1;
	ro_run.desc_hi = RO_LEVEL;
	for (const struct ro_kind *k = ro_kinds; k->name; k++)
		weights += is_on(k) ? k->weight : 0;
}

static void
begin(void)
{
	for (uint32_t i = 0; i < RO_FILES; i++) {
		struct ro_slot *slot = ro_open(i, O_RDWR | O_CREAT | O_TRUNC);

		if (!ro_run.sized || i)
			continue;
		RO_CHECK(ftruncate(slot->fd, (off_t)ro_run.room) == 0,
			 "ftruncate");
		ro_run.s->file[i].size = ro_run.room;
		ro_close(slot);		/* positions are each worker's own */
	}
}

static void
set_modes(char *list)
{
	uint64_t on = 0;
	bool first = true;

	for (char *name = strtok(list, ","); name;
	     name = strtok(NULL, ","), first = false) {
		bool minus = *name == '-';
		uint32_t i = 0;

		name += minus;
		if (first && minus)
			on = ~0ull;
		while (i < RO_GROUPS && strcmp(name, ro_group_names[i]) != 0)
			i++;
		if (strcmp(name, "all") == 0) {
			on = ~0ull;
		} else if (i == RO_GROUPS) {
			fprintf(stderr, "random-ops: no group %s\n", name);
			exit(2);
		} else {
			on = minus ? on & ~(1ull << i) : on | 1ull << i;
		}
	}
	ro_run.groups = on;
}

static uint64_t
size_of(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 0);

	return *end == 'K' ? n << 10 : *end == 'M' ? n << 20
	       : *end == 'G' ? n << 30 : n;
}

static const struct option options[] = {
	{ "seed", 1, NULL, 's' }, { "ops", 1, NULL, 'n' },
	{ "procs", 1, NULL, 'p' }, { "share", 1, NULL, 'h' },
	{ "size", 1, NULL, 'z' }, { "io", 1, NULL, 'i' },
	{ "align", 1, NULL, 'a' }, { "sparse", 0, NULL, 'S' },
	{ "modes", 1, NULL, 'm' }, { "log", 1, NULL, 'l' },
	{ "replay", 1, NULL, 'r' }, { "image", 1, NULL, 'I' },
	{ "check-every", 1, NULL, 'c' }, { NULL, 0, NULL, 0 },
};

static void
set_option(int c)
{
	switch (c) {
	case 's': ro_run.seed = strtoull(optarg, NULL, 0); break;
	case 'n': ro_run.ops = strtoull(optarg, NULL, 0); break;
	case 'p': ro_run.procs = (uint32_t)atoi(optarg); break;
	case 'h': ro_run.locked = strcmp(optarg, "locked") == 0; break;
	case 'z': ro_run.room = size_of(optarg); break;
	case 'i': ro_run.max_io = size_of(optarg); break;
	case 'a': ro_run.align = size_of(optarg); break;
	case 'S': ro_run.sparse = true; break;
	case 'm': set_modes(optarg); break;
	case 'l': log_path = optarg; break;
	case 'r': replay_path = optarg; break;
	case 'I': image = optarg; break;
	case 'c': check_every = strtoull(optarg, NULL, 0); break;
	default: exit(2);
	}
}

static void
parse(int argc, char **argv)
{
	int c;

	ro_run = (struct ro_run){
		.self = "/proc/self/exe", .ops = 10000, .room = 1 << 18,
		.max_io = 1 << 16, .align = 1, .procs = 1, .groups = ~0ull,
		.log_fd = -1, .seed = (uint64_t)time(NULL) ^ (uint64_t)getpid(),
	};
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		set_option(c);
	if (optind + 1 != argc || ro_run.procs < 1 ||
	    ro_run.procs > RO_PROCS || ro_run.align < 1 ||
	    ro_run.max_io > ro_run.room || ro_run.max_io < 1) {
		fprintf(stderr, "random-ops: see the top of its source\n");
		exit(2);
	}
	ro_run.sized = ro_run.procs > 1 && !ro_run.locked;
	ro_run.hi = ro_run.room;
	if (!check_every)
		check_every = 2000 + ro_run.room / 2048;
	if (log_path)
		ro_run.log_fd = open(log_path, O_CREAT | O_TRUNC | O_WRONLY |
				     O_CLOEXEC, 0644);
}

static void
report(double seconds)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; ro_kinds[i].name; i++) {
		sum += ro_run.s->count[i];
		if (ro_run.s->count[i])
			printf("%s %llu, ", ro_kinds[i].name,
			       (unsigned long long)ro_run.s->count[i]);
	}
	printf("all %llu; seed %llu, %.0f a second\n",
	       (unsigned long long)sum, (unsigned long long)ro_run.seed,
	       (double)sum / seconds);
}

int
main(int argc, char **argv)
{
	double start = now();

	if (argc > 1 && strcmp(argv[1], "--peek") == 0)
		return ro_peek(argc, argv);
	if (argc == 4 && strcmp(argv[1], "--compare") == 0)
		return ro_compare(argv[2], argv[3]);
	parse(argc, argv);
	printf("seed %llu\n", (unsigned long long)ro_run.seed);
	fflush(stdout);
	prepare(argv[optind]);
	begin();
	if (replay_path)
		replay();
	else if (ro_run.procs > 1)
		run_workers();
	else
		work(ro_run.seed, ro_run.ops);
	for (uint32_t i = 0; i < (ro_run.sized ? 1 : RO_FILES); i++) {
		ro_verify(i);
		if (ro_run.s->file[i].nameless)
			ro_op_unlink(&ro_run, &(struct ro_op){
				.r = { 0, 0, 0, i ? 0 : ~0ull } });
	}
	ro_close_all(-1);
	if (strcmp(ro_run.s->file[0].path, argv[optind]) != 0)
		RO_CHECK(rename(ro_run.s->file[0].path, argv[optind]) == 0,
			 "rename");
	if (image)
		ro_write_image(&ro_run.s->file[0], image);
	report(now() - start);
	return 0;
}
