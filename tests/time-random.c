/* SPDX-License-Identifier: BSD-3-Clause */
/* time-random.c -- random changes by several processes; are their times in order? */

/*
 * usage: time-random SEED STEPS SHOWN
 *
 * Works in the current directory. A step is one call of one process; a lock
 * sees to it that they come one after another. A file's ctime never goes back,
 * its mtime only where it was set, and stays as it was set; of two files that
 * were changed the later has the later time, or the same. Beside them somebody
 * looks at files all the time, without the lock: their ctime does not go back
 * for him either. Writes the mtimes that were shown last to SHOWN: they are to
 * be there when everything is home.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAMES = 6, FILES = 64, PROCS = 3, SLOTS = 4, TAIL = 60, LINE = 120 };

struct file {
	int64_t mtime, ctime;		/* as they were shown last; 0: not yet */
	uint64_t mtime_of, ctime_of;	/* the steps that they were those of */
	uint64_t changed, touched;	/* steps that moved mtime, and ctime */
	int64_t set;			/* by utimens; 0: it was not */
	off_t size;
	bool linked;			/* the kernel may serve it, where it is
					 * not known to change */
	int links;
	int opens;
};

static struct shared {
	pthread_mutex_t lock;
	struct file file[FILES];
	int name[NAMES];		/* file + 1; 0: there is none */
	uint64_t step;
	int faults;
	bool over;
	char tail[TAIL][LINE];
} *s;

static struct slot {
	int fd, file;			/* fd -1: free */
	bool appends;
} slots[SLOTS];

static uint64_t rng;
static int me;

static uint32_t
pick(uint32_t below)
{
	rng ^= rng >> 12;
	rng ^= rng << 25;
	rng ^= rng >> 27;
	return (uint32_t)((rng * 0x2545f4914f6cdd1dull) >> 33) % below;
}

static int64_t
nanoseconds(int64_t seconds, int64_t ns)
{
	return seconds * 1000000000 + ns;
}

static void
fault(const char *what, int file, int64_t was, int64_t is)
{
	if (s->faults++)
		return;
	fprintf(stderr, "step %llu, file %d: %s by %lld ns: %lld, then %lld\n",
		(unsigned long long)s->step, file, what,
		(long long)(was - is), (long long)was, (long long)is);
	for (unsigned i = 1; i <= TAIL; i++)
		fprintf(stderr, "\t%s\n", s->tail[(s->step + i) % TAIL]);
}

static void
say(const char *call, int file, int name)
{
	s->step++;
	snprintf(s->tail[s->step % TAIL], LINE,
		 "%llu process %d: %s of file %d (name %d)",
		 (unsigned long long)s->step, me, call, file, name);
}

static void
check_order(int file, uint64_t step, int64_t time, uint64_t later_step,
	    int64_t later)
{
	if (step && step < later_step && time > later)
		fault("changed after another one, but its time is before", file,
		      time, later);
}

/* What was shown of others is younger or older as the steps were. */
static void
compare(int file)
{
	const struct file *f = &s->file[file];

	for (int i = 0; i < FILES && !f->linked; i++) {
		const struct file *o = &s->file[i];

		if (i == file || (!o->links && !o->opens) || o->linked)
			continue;
		check_order(i, f->mtime_of, f->mtime, o->mtime_of, o->mtime);
		check_order(file, o->mtime_of, o->mtime, f->mtime_of, f->mtime);
		check_order(i, f->mtime_of, f->mtime, o->ctime_of, o->ctime);
		check_order(file, o->mtime_of, o->mtime, f->ctime_of, f->ctime);
	}
}

static void
shown(int file, int64_t mtime, int64_t ctime, off_t size)
{
	struct file *f = &s->file[file];

	if (f->ctime > ctime)
		fault("ctime went back", file, f->ctime, ctime);
	if (f->set ? f->set != mtime : f->mtime > mtime)
		fault(f->set ? "mtime is not as it was set" : "mtime went back",
		      file, f->set ? f->set : f->mtime, mtime);
	if (!f->set && ctime < mtime)
		fault("ctime is before mtime", file, mtime, ctime);
	if (f->size != size)
		fault("size is not as it was made", file, f->size, size);
	f->mtime = mtime;
	f->mtime_of = f->set ? 0 : f->changed;
	f->ctime = ctime;
	f->ctime_of = f->touched;
	compare(file);
}

/* The step moves ctime, and mtime if it says so. What was shown before, or was
 * set, is a thing of the past. */
static void
touched(int file)
{
	s->file[file].touched = s->step;
}

static void
forget(int file)
{
	s->file[file].mtime = 0;
	s->file[file].mtime_of = 0;
}

static void
changed(int file)
{
	touched(file);
	s->file[file].changed = s->step;
	if (s->file[file].set)
		forget(file);
	s->file[file].set = 0;
}

static void
set_to(int file, int64_t when)
{
	touched(file);
	s->file[file].set = when;
	s->file[file].changed = 0;
	forget(file);
}

static const char *
path_of(int name)
{
	static char paths[2][16];
	static int turn;
	char *path = paths[turn++ % 2];

	snprintf(path, sizeof(paths[0]), "n%d", name);
	return path;
}

static void
must(int r, const char *call)
{
	if (r < 0)
		err(1, "step %llu: %s", (unsigned long long)s->step, call);
}

static int
some_name(void)
{
	int name = (int)pick(NAMES);

	for (int i = 0; i < NAMES; i++, name = (name + 1) % NAMES)
		if (s->name[name])
			return name;
	return -1;
}

static struct slot *
some_slot(bool open)
{
	uint32_t at = pick(SLOTS);

	for (int i = 0; i < SLOTS; i++, at = (at + 1) % SLOTS)
		if ((slots[at].fd >= 0) == open)
			return &slots[at];
	return NULL;
}

static int
new_file(void)
{
	for (int i = 0; i < FILES; i++)
		if (!s->file[i].links && !s->file[i].opens) {
			s->file[i] = (struct file){ .links = 1 };
			return i;
		}
	return -1;
}

static void
do_open(void)
{
	int name = (int)pick(NAMES), flags = O_RDWR | O_CREAT;
	int file = s->name[name] - 1;
	struct slot *slot = some_slot(false);
	bool made = file < 0, cuts = pick(6) == 0;

	if (!slot || (made && (file = new_file()) < 0))
		return;
	slot->appends = pick(4) == 0;
	flags |= (cuts ? O_TRUNC : 0) | (slot->appends ? O_APPEND : 0);
	say(made ? "open, new" : cuts ? "open, cut" : "open", file, name);
	slot->fd = open(path_of(name), flags, 0644);
	must(slot->fd, "open");
	slot->file = file;
	s->name[name] = file + 1;
	s->file[file].opens++;
	if (made || cuts)
		changed(file);
	if (cuts)
		s->file[file].size = 0;
}

static void
do_close(void)
{
	struct slot *slot = some_slot(true);

	if (!slot)
		return;
	say("close", slot->file, -1);
	must(close(slot->fd), "close");
	s->file[slot->file].opens--;
	slot->fd = -1;
}

static void
do_write(void)
{
	static char bytes[20000];
	struct slot *slot = some_slot(true);
	off_t at = (off_t)pick(30000);
	size_t n = 1 + pick(pick(4) ? 200 : sizeof(bytes));
	struct file *f;

	if (!slot)
		return;
	f = &s->file[slot->file];
	say("pwrite", slot->file, -1);
	if (slot->appends)
		at = f->size;
	must((int)pwrite(slot->fd, bytes, n, at), "pwrite");
	changed(slot->file);
	if (f->size < at + (off_t)n)
		f->size = at + (off_t)n;
}

static void
do_cut(void)
{
	struct slot *slot = some_slot(true);
	off_t size = (off_t)pick(40000);

	if (!slot)
		return;
	say("ftruncate", slot->file, -1);
	must(ftruncate(slot->fd, size), "ftruncate");
	changed(slot->file);
	s->file[slot->file].size = size;
}

static void
do_cut_path(void)
{
	int name = some_name(), file;
	off_t size = (off_t)pick(40000);

	if (name < 0)
		return;
	file = s->name[name] - 1;
	if (size == s->file[file].size)
		return;			/* moves no time */
	say("truncate", file, name);
	must(truncate(path_of(name), size), "truncate");
	changed(file);
	s->file[file].size = size;
}

/* Long ago, far ahead, about now, or now. */
static struct timespec
some_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	switch (pick(5)) {
	case 0: ts.tv_nsec = UTIME_NOW; break;
	case 1: ts.tv_nsec = UTIME_OMIT; break;
	case 2: ts.tv_sec -= 1 + (time_t)pick(1000000); break;
	case 3: ts.tv_sec += 1 + (time_t)pick(1000000); break;
	default: ts.tv_nsec = (long)pick(1000000000); break;
	}
	return ts;
}

static void
do_set(void)
{
	struct timespec ts[2] = { { 0, UTIME_OMIT }, some_time() };
	struct timeval tv[2] = { { 7, 7 }, { 0, 0 } };
	int name = some_name(), file = name < 0 ? -1 : s->name[name] - 1;
	struct slot *slot = some_slot(true);
	int64_t when = nanoseconds(ts[1].tv_sec, ts[1].tv_nsec);
	bool omits = ts[1].tv_nsec == UTIME_OMIT;
	bool now = ts[1].tv_nsec == UTIME_NOW;
	uint32_t way = pick(3);

	if (way == 0 && !slot)
		way = 1;
	if (way != 0 && name < 0)
		return;
	if (way == 0)
		file = slot->file;
	if (omits)
		ts[0].tv_nsec = UTIME_NOW;	/* else nothing is done */
	say(omits ? "utimens, omitted" : now ? "utimens, now" : "utimens", file,
	    name);
	if (way == 0) {
		must(futimens(slot->fd, ts), "futimens");
	} else if (way == 1 || omits || now) {
		must(utimensat(AT_FDCWD, path_of(name), ts, 0), "utimensat");
	} else {
		tv[1].tv_sec = ts[1].tv_sec;
		tv[1].tv_usec = ts[1].tv_nsec / 1000;
		when = nanoseconds(tv[1].tv_sec, tv[1].tv_usec * 1000);
		must(utimes(path_of(name), tv), "utimes");
	}
	if (omits)
		touched(file);
	else if (now)
		changed(file);
	else
		set_to(file, when);
}

static void
do_mode(void)
{
	int name = some_name();
	struct slot *slot = some_slot(true);

	if (slot && pick(2)) {
		say("fchmod", slot->file, -1);
		must(fchmod(slot->fd, 0600 | pick(64)), "fchmod");
		touched(slot->file);
	} else if (name >= 0) {
		say("chmod", s->name[name] - 1, name);
		must(chmod(path_of(name), 0600 | pick(64)), "chmod");
		touched(s->name[name] - 1);
	}
}

static void
do_rename(void)
{
	int from = some_name(), to = (int)pick(NAMES), file, old;

	if (from < 0 || s->name[from] == s->name[to])
		return;
	file = s->name[from] - 1;
	old = s->name[to] - 1;
	say("rename", file, from);
	must(rename(path_of(from), path_of(to)), "rename");
	touched(file);
	if (old >= 0) {
		s->file[old].links--;
		touched(old);
	}
	s->name[to] = file + 1;
	s->name[from] = 0;
}

static void
do_link(void)
{
	int from = some_name(), to = (int)pick(NAMES);

	if (from < 0 || s->name[to])
		return;
	say("link", s->name[from] - 1, to);
	must(link(path_of(from), path_of(to)), "link");
	s->name[to] = s->name[from];
	s->file[s->name[to] - 1].links++;
	s->file[s->name[to] - 1].linked = true;
	touched(s->name[to] - 1);
}

static void
do_unlink(void)
{
	int name = some_name();

	if (name < 0)
		return;
	say("unlink", s->name[name] - 1, name);
	must(unlink(path_of(name)), "unlink");
	s->file[s->name[name] - 1].links--;
	touched(s->name[name] - 1);
	s->name[name] = 0;
}

static void
do_sync(void)
{
	struct slot *slot = some_slot(true);

	if (!slot || pick(8))
		return;
	say("fsync", slot->file, -1);
	must(fsync(slot->fd), "fsync");
}

static void
look_at(int name)
{
	int file = s->name[name] - 1;
	struct statx stx;
	struct stat st;

	say("stat", file, name);
	if (pick(2)) {
		must(stat(path_of(name), &st), "stat");
		shown(file, nanoseconds(st.st_mtim.tv_sec, st.st_mtim.tv_nsec),
		      nanoseconds(st.st_ctim.tv_sec, st.st_ctim.tv_nsec),
		      st.st_size);
		return;
	}
	must(statx(AT_FDCWD, path_of(name), 0, STATX_BASIC_STATS, &stx),
	     "statx");
	shown(file, nanoseconds(stx.stx_mtime.tv_sec, stx.stx_mtime.tv_nsec),
	      nanoseconds(stx.stx_ctime.tv_sec, stx.stx_ctime.tv_nsec),
	      (off_t)stx.stx_size);
}

static void
do_look(void)
{
	int name = some_name();
	struct slot *slot = some_slot(true);
	struct stat st;

	if (name >= 0 && (!slot || pick(2))) {
		look_at(name);
	} else if (slot) {
		say("fstat", slot->file, -1);
		must(fstat(slot->fd, &st), "fstat");
		shown(slot->file,
		      nanoseconds(st.st_mtim.tv_sec, st.st_mtim.tv_nsec),
		      nanoseconds(st.st_ctim.tv_sec, st.st_ctim.tv_nsec),
		      st.st_size);
	}
}

static void
step(void)
{
	static void (*const calls[])(void) = {
		do_open, do_open, do_close, do_write, do_write, do_write,
		do_cut, do_cut_path, do_set, do_set, do_mode, do_rename,
		do_link, do_unlink, do_sync, do_look, do_look, do_look,
		do_look, do_look,
	};

	calls[pick(sizeof(calls) / sizeof(*calls))]();
}

static void
work(int number, uint64_t seed, uint64_t steps)
{
	me = number;
	rng = seed * 0x9e3779b97f4a7c15ull + (uint64_t)number + 1;
	for (int i = 0; i < SLOTS; i++)
		slots[i].fd = -1;
	for (;;) {
		pthread_mutex_lock(&s->lock);
		if (s->step >= steps || s->faults)
			break;
		step();
		pthread_mutex_unlock(&s->lock);
		if (pick(4) == 0)
			usleep(pick(pick(20) ? 500 : 20000));
	}
	pthread_mutex_unlock(&s->lock);
	exit(0);
}

/* One file for a while, by a descriptor of one's own. */
static void
watch_one(int fd)
{
	int64_t last = 0;

	for (int i = 0; i < 200; i++) {
		struct stat st;
		int64_t now;

		must(fstat(fd, &st), "fstat");
		now = nanoseconds(st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
		if (now < last)
			fault("ctime went back for one who looks on", -1, last,
			      now);
		last = now;
		if (i % 10 == 0)
			usleep(100);
	}
}

static void
watch(uint64_t seed)
{
	rng = seed * 0x9e3779b97f4a7c15ull + 99;
	while (!s->over && !s->faults) {
		int fd = open(path_of((int)pick(NAMES)), O_RDONLY);

		if (fd >= 0) {
			watch_one(fd);
			close(fd);
		}
		usleep(500);
	}
	exit(0);
}

static void
begin(void)
{
	pthread_mutexattr_t attr;

	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		err(1, "mmap");
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&s->lock, &attr);
}

static void
wait_for(pid_t pid)
{
	int status;

	must(waitpid(pid, &status, 0), "waitpid");
	if (status) {
		warnx("a process ended with %x", status);
		s->faults++;
	}
}

static void
write_down(const char *path)
{
	FILE *out = fopen(path, "w");

	if (!out)
		err(1, "%s", path);
	for (int i = 0; i < NAMES; i++)
		if (s->name[i]) {
			struct file *f = &s->file[s->name[i] - 1];

			look_at(i);
			fprintf(out, "%s %lld.%09lld %lld\n", path_of(i),
				(long long)(f->mtime / 1000000000),
				(long long)(f->mtime % 1000000000),
				(long long)f->size);
		}
	if (fclose(out))
		err(1, "%s", path);
}

int
main(int argc, char **argv)
{
	uint64_t seed, steps;
	pid_t pid[PROCS + 1];

	if (argc != 4)
		errx(2, "usage: time-random SEED STEPS SHOWN");
	seed = strtoull(argv[1], NULL, 10);
	steps = strtoull(argv[2], NULL, 10);
	begin();
	for (int i = 0; i <= PROCS; i++) {
		pid[i] = fork();
		must(pid[i], "fork");
		if (pid[i] == 0 && i == PROCS)
			watch(seed);
		else if (pid[i] == 0)
			work(i, seed, steps);
	}
	for (int i = 0; i <= PROCS; i++) {
		s->over = i == PROCS;
		wait_for(pid[i]);
	}
	rng = seed + 1;
	write_down(argv[3]);
	return s->faults > 0;
}
