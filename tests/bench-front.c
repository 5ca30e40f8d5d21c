/* SPDX-License-Identifier: BSD-3-Clause */
/* bench-front.c -- what a call costs with and without us, in one process */

/*
 * usage: bench-front MANAGED PLAIN TMPFS
 *
 * Runs under `spillway run --include MANAGED`. PLAIN is a directory of the
 * same file system that is not managed, TMPFS one in memory. The rounds take
 * turns, and the median of the ratios counts: these figures are for machines
 * on which something else runs as well.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	ROUNDS = 9, TOTAL = 32 << 20, MANY_FILES = 100000, AT_A_TIME = 500,
	CROWD_BLOCKS = 512, CROWD_NS = 400000000,	/* 2 MiB, 0.4 s */
};

static const char *managed, *plain, *tmpfs;
static char *buffer;
static double *crowd_ends;		/* shared by all of them */

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

static int
create(const char *dir)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/bench.%d", dir, (int)getpid());
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0)
		die(path);
	return fd;
}

static void
discard(const char *dir, int fd)
{
	char path[4096];

	close(fd);
	snprintf(path, sizeof(path), "%s/bench.%d", dir, (int)getpid());
	unlink(path);
}

/* ns a call */
static double
append(const char *dir, size_t size)
{
	long n = TOTAL / (long)size;
	int fd = create(dir);
	double start = now();

	for (long i = 0; i < n; i++)
		if (write(fd, buffer, size) != (ssize_t)size)
			die("write");
	start = now() - start;
	discard(dir, fd);
	return start / (double)n;
}

static double
overwrite(const char *dir, size_t size)
{
	long n = TOTAL / (long)size;
	int fd = create(dir);
	double start;

	for (long i = 0; i < n; i++)
		if (write(fd, buffer, size) != (ssize_t)size)
			die("write");
	start = now();
	for (long i = 0; i < n; i++)
		if (pwrite(fd, buffer, size, i * (long)size) != (ssize_t)size)
			die("pwrite");
	start = now() - start;
	discard(dir, fd);
	return start / (double)n;
}

static double
read_back(const char *dir, size_t size)
{
	long n = TOTAL / (long)size;
	int fd = create(dir);
	double start;

	for (long i = 0; i < n; i++)
		if (write(fd, buffer, size) != (ssize_t)size)
			die("write");
	lseek(fd, 0, SEEK_SET);
	start = now();
	for (long i = 0; i < n; i++)
		if (read(fd, buffer, size) != (ssize_t)size)
			die("read");
	start = now() - start;
	discard(dir, fd);
	return start / (double)n;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double
median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare);
	return values[n / 2];
}

static void
race(const char *name, double (*run)(const char *, size_t), size_t size,
     const char *other, double goal)
{
	double ratio[ROUNDS], ours[ROUNDS], theirs[ROUNDS], got;

	run(managed, size);		/* memory is faulted in, as for all */
	for (int i = 0; i < ROUNDS; i++) {
		theirs[i] = run(other, size);
		ours[i] = run(managed, size);
		ratio[i] = theirs[i] / ours[i];
	}
	got = median(ratio, ROUNDS);
	printf("%-34s %9.0f %9.0f %8.2fx  >= %-5.1f %s\n", name,
	       median(theirs, ROUNDS), median(ours, ROUNDS), got, goal,
	       got >= goal ? "ok" : "MISSED");
}

/* What the wrapper adds to a call on a descriptor that is not ours: once
 * through the name, once through libc's own function. */
static void
unmanaged(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	ssize_t (*direct)(int, const void *, size_t) =
		(ssize_t (*)(int, const void *, size_t))dlsym(libc, "write");
	int fd = open("/dev/null", O_WRONLY);
	double extra[ROUNDS], got;
	long n = 1000000;

	for (int r = 0; r < ROUNDS; r++) {
		double start = now(), wrapped;

		for (long i = 0; i < n; i++)
			if (write(fd, buffer, 1) != 1)
				die("write");
		wrapped = now() - start;
		start = now();
		for (long i = 0; i < n; i++)
			if (direct(fd, buffer, 1) != 1)
				die("write");
		extra[r] = (wrapped - (now() - start)) / (double)n;
	}
	close(fd);
	got = median(extra, ROUNDS);
	printf("%-34s %9s %9.1f %9s <= %-5.1f %s\n",
	       "unmanaged call, ns over libc's", "", got, "", 10.0,
	       got <= 10 ? "ok" : "MISSED");
}

/* ns of a 4 KiB write at an offset of a file that large */
static double
write_far(off_t at)
{
	int fd = create(managed);
	double start;
	long n = 4096;

	if (ftruncate(fd, at + n * 4096) < 0)
		die("ftruncate");
	start = now();
	for (long i = 0; i < n; i++)
		if (pwrite(fd, buffer, 4096, at + i * 4096) != 4096)
			die("pwrite");
	start = now() - start;
	discard(managed, fd);
	return start / (double)n;
}

static void
flatness(void)
{
	double near[ROUNDS], far[ROUNDS], ratio[ROUNDS], got;

	for (int i = 0; i < ROUNDS; i++) {
		near[i] = write_far(1 << 20);
		far[i] = write_far(1ll << 40);
		ratio[i] = near[i] / far[i];
	}
	got = median(ratio, ROUNDS);
	printf("%-34s %9.0f %9.0f %8.2fx  >= %-5.1f %s\n",
	       "4 KiB at 1 MiB and at 1 TiB", median(near, ROUNDS),
	       median(far, ROUNDS), got, 0.9, got >= 0.9 ? "ok" : "MISSED");
}

static int
open_many(int i, char *path, size_t cap)
{
	int fd;

	snprintf(path, cap, "%s/many.%d", managed, i);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0)
		die(path);
	return fd;
}

/* ns of a 4 KiB write in each of these */
static double
write_each(const int *fd, int n)
{
	double start = now();

	for (int i = 0; i < n; i++)
		if (write(fd[i], buffer, 4096) != 4096)
			die("write");
	return (now() - start) / n;
}

/* One after the other: in one file, and in as many as are open. What comes
 * first finds the caches as opening left them, so they take turns. */
static void
write_both(const int *fd, const int *same, bool one_first, double *ret_one,
	   double *ret_many)
{
	if (one_first)
		*ret_one += write_each(same, AT_A_TIME) / 2;
	*ret_many += write_each(fd, AT_A_TIME) / 2;
	if (!one_first)
		*ret_one += write_each(same, AT_A_TIME) / 2;
}

/* Memory that was touched, as much as will be needed. */
static void
touch_slots(void)
{
	int fd = create(managed);

	for (int i = 0; i < 2 * MANY_FILES; i++)
		if (write(fd, buffer, 4096) != 4096)
			die("write");
	discard(managed, fd);
}

/* What opening and closing costs is not in it. All are there at once in the
 * end, and some are open at a time; medians over two turns each. */
static void
many_files(void)
{
	enum { TURNS = MANY_FILES / AT_A_TIME / 2 };
	static double one[TURNS], many[TURNS], ratio[TURNS];
	int fd[AT_A_TIME], same[AT_A_TIME], all;
	char path[4096];
	double got;

	touch_slots();
	all = create(managed);
	for (int i = 0; i < AT_A_TIME; i++)
		same[i] = all;
	for (int turn = 0; turn < 2 * TURNS; turn++) {
		for (int i = 0; i < AT_A_TIME; i++)
			fd[i] = open_many(turn * AT_A_TIME + i, path,
					  sizeof(path));
		write_both(fd, same, turn % 2, &one[turn / 2],
			   &many[turn / 2]);
		for (int i = 0; i < AT_A_TIME; i++)
			close(fd[i]);
	}
	for (int i = 0; i < MANY_FILES; i++) {
		snprintf(path, sizeof(path), "%s/many.%d", managed, i);
		unlink(path);
	}
	discard(managed, all);
	for (int i = 0; i < TURNS; i++)
		ratio[i] = one[i] / many[i];
	got = median(ratio, TURNS);
	printf("%-34s %9.0f %9.0f %8.2fx  >= %-5.1f %s\n",
	       "4 KiB in 1 and in 100,000 files", median(one, TURNS),
	       median(many, TURNS), got, 0.9, got >= 0.9 ? "ok" : "MISSED");
}

/* Writes a file of its own again and again until the time is over, and says
 * how often. What happens before and after, when processes begin and end, is
 * not in it: the memory is mapped and the others are there. */
static void
one_of_many(int go, int ready, int report)
{
	int fd = create(managed);
	long n = 0;
	char c = 0;

	for (int k = 0; k < CROWD_BLOCKS; k++)
		if (pwrite(fd, buffer, 4096, k * 4096) != 4096)
			_exit(1);
	if (write(ready, &c, 1) != 1 || read(go, &c, 1) != 0)
		_exit(1);
	while (now() < *crowd_ends)
		for (int k = 0; k < 64; k++, n++)
			if (pwrite(fd, buffer, 4096,
				   n % CROWD_BLOCKS * 4096) != 4096)
				_exit(1);
	if (write(report, &n, sizeof(n)) != sizeof(n))
		_exit(1);
	discard(managed, fd);
	_exit(0);
}

/* MiB/s of n processes that write files of their own */
static double
crowd(int n)
{
	int go[2], ready[2], report[2];
	long writes = 0, got;
	char c;

	if (pipe(go) < 0 || pipe(ready) < 0 || pipe(report) < 0)
		die("pipe");
	for (int i = 0; i < n; i++)
		if (fork() == 0) {
			close(go[1]);
			one_of_many(go[0], ready[1], report[1]);
		}
	for (int i = 0; i < n; i++)
		if (read(ready[0], &c, 1) != 1)
			die("ready");
	*crowd_ends = now() + CROWD_NS;
	close(go[1]);
	for (int i = 0; i < n; i++) {
		if (read(report[0], &got, sizeof(got)) != sizeof(got))
			die("report");
		writes += got;
	}
	for (int i = 0; i < n; i++) {
		int status;

		if (wait(&status) < 0 || status)
			die("child");
	}
	close(go[0]);
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(report[i]);
	}
	return (double)writes / 256 / (CROWD_NS / 1e9);
}

/* All sizes in turn, and the medians of the rounds: what else happens on the
 * machine concerns them alike, and the best one is no lucky one. */
static void
crowds(void)
{
	static const int sizes[] = { 2, 4, 8, 16, 32, 64 };
	double best = 0, rate[6], round[6][ROUNDS];

	for (int r = 0; r < ROUNDS; r++)
		for (int i = 0; i < 6; i++)
			round[i][r] = crowd(sizes[i]);
	for (int i = 0; i < 6; i++) {
		rate[i] = median(round[i], ROUNDS);
		best = rate[i] > best ? rate[i] : best;
	}
	for (int i = 0; i < 6; i++)
		printf("%3d processes on one segment      %9s %6.0f M/s "
		       "%7.0f%%  >= 90%%   %s\n", sizes[i], "", rate[i],
		       100 * rate[i] / best,
		       rate[i] >= 0.9 * best ? "ok" : "MISSED");
}

int
main(int argc, char **argv)
{
	if (argc != 4) {
		fputs("usage: bench-front MANAGED PLAIN TMPFS\n", stderr);
		return 2;
	}
	managed = argv[1];
	plain = argv[2];
	tmpfs = argv[3];
	buffer = aligned_alloc(4096, 1 << 20);
	crowd_ends = mmap(NULL, sizeof(*crowd_ends), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!buffer || crowd_ends == MAP_FAILED)
		die("memory");
	memset(buffer, 'x', 1 << 20);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("%-34s %9s %9s %9s  %-8s\n", "ns a call, medians", "plain",
	       "spillway", "ratio", "goal");
	race("append 4 KiB, same file system", append, 4096, plain, 3);
	race("append 4 KiB, tmpfs", append, 4096, tmpfs, 2);
	race("append 1 KiB", append, 1024, plain, 5);
	race("append 64 KiB", append, 65536, plain, 1.5);
	race("overwrite 4 KiB", overwrite, 4096, plain, 1.6);
	race("read 4 KiB, cached", read_back, 4096, plain, 2);
	unmanaged();
	flatness();
	many_files();
	crowds();
	return 0;
}
