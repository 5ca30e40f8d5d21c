/* SPDX-License-Identifier: BSD-3-Clause */
/* seed.c -- loads the seed, and saves to it beside others who do */

#include "planner/seed.h"
#include "planner/seed-file.h"
#include "planner/seed-queue.h"
#include "shm/util.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WEIGHT_MAX 1000.0	/* then what is new still counts for some */
#define LOCK_TRIES 500		/* of 10 ms */
#define LINKS 40		/* one after the other, as the kernel has it */

__attribute__((format(printf, 3, 4)))
static int
say(struct spw_seed_note *note, int error, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(note->text, sizeof(note->text), format, ap);
	va_end(ap);
	return error;
}

/* "model name" of /proc/cpuinfo; where there is none, what the kernel was
 * built for would do, but "unknown" is as good.
 */
void
spw_seed_machine(char cpu[SPW_SEED_CPU], unsigned *ret_cores)
{
	long cores = sysconf(_SC_NPROCESSORS_CONF);
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256];

	strcpy(cpu, "unknown");
	*ret_cores = cores > 0 ? (unsigned)cores : 1;
	while (f && fgets(line, sizeof(line), f)) {
		char *value = strchr(line, ':');

		if (strncmp(line, "model name", 10) || !value)
			continue;
		value += strspn(value, ": \t");
		value[strcspn(value, "\n")] = '\0';
		(void)snprintf(cpu, SPW_SEED_CPU, "%.*s", SPW_SEED_CPU - 1,
			       value);
		break;
	}
	if (f)
		fclose(f);
}

void
spw_seed_clear(struct spw_seed *seed)
{
	free(seed->at);
	*seed = (struct spw_seed){ .n = 0 };
}

static int
order(const void *x, const void *y)
{
	const struct spw_known *a = x, *b = y;

	if (a->traits != b->traits)
		return a->traits < b->traits ? -1 : 1;
	if (a->choice.codec != b->choice.codec)
		return a->choice.codec - b->choice.codec;
	if (a->choice.filter != b->choice.filter)
		return a->choice.filter - b->choice.filter;
	if (a->choice.width != b->choice.width)
		return a->choice.width - b->choice.width;
	return a->choice.level - b->choice.level;
}

int
spw_seed_add(struct spw_seed *seed, const struct spw_known *known)
{
	if (seed->n == seed->room) {
		size_t room = SPW_MAX(64, 2 * seed->room);
		struct spw_known *at = realloc(seed->at, room * sizeof(*at));

		if (!at)
			return -ENOMEM;
		seed->at = at;
		seed->room = room;
	}
	seed->at[seed->n++] = *known;
	return 0;
}

/* Figures multiply, so their logarithms are averaged. */
static double
blend(double a, double wa, double b, double wb)
{
	if (!a || !b)
		return a ? a : b;
	return exp((wa * log(a) + wb * log(b)) / (wa + wb));
}

static void
merge(struct spw_known *into, const struct spw_known *k)
{
	double w = into->weight, more = k->weight;

	into->pack = blend(into->pack, w, k->pack, more);
	into->unpack = blend(into->unpack, w, k->unpack, more);
	into->fraction = blend(into->fraction, w, k->fraction, more);
	into->weight = w + more;
}

void
spw_seed_settle(struct spw_seed *seed)
{
	size_t kept = 0;

	if (seed->n)
		qsort(seed->at, seed->n, sizeof(*seed->at), order);
	for (size_t i = 0; i < seed->n; i++)
		if (kept && !order(&seed->at[kept - 1], &seed->at[i]))
			merge(&seed->at[kept - 1], &seed->at[i]);
		else
			seed->at[kept++] = seed->at[i];
	seed->n = kept;
	for (size_t i = 0; i < kept; i++)
		seed->at[i].weight = SPW_MIN(seed->at[i].weight, WEIGHT_MAX);
}

int
spw_seed_file_read(const char *path, char **ret_text, size_t *ret_n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	size_t n = 0;
	struct stat st;
	char *text;
	ssize_t got;

	if (fd < 0)
		return -errno;
	got = fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ? -EINVAL
	      : st.st_size > SPW_SEED_MOST ? -EFBIG : 0;
	text = got ? NULL : malloc((size_t)st.st_size + 1);
	if (!text) {
		close(fd);
		return got ? (int)got : -ENOMEM;
	}
	while ((got = read(fd, text + n, (size_t)st.st_size - n)) > 0)
		n += (size_t)got;
	got = got < 0 ? -errno : 0;
	close(fd);
	if (got < 0) {
		free(text);
		return (int)got;
	}
	text[n] = '\0';
	*ret_text = text;
	*ret_n = n;
	return 0;
}

static const char *
error_text(int r)
{
	return r == -EINVAL ? "no regular file" : strerror(-r);
}

/* The seed in a file.  Empty, and 0, if there is no file. */
static int
read_seed(const char *path, struct spw_seed *ret, char **ret_text,
	  struct spw_seed_note *note)
{
	const char *reason = NULL;
	char *text = NULL;
	size_t n = 0;
	int r;

	*ret = (struct spw_seed){ .n = 0 };
	*ret_text = NULL;
	r = spw_seed_file_read(path, &text, &n);
	if (r == -ENOENT)
		return 0;
	if (r == -EFBIG) {
		reason = "is larger than 4 MiB";
		r = -EBADMSG;
	}
	if (!r)
		r = spw_seed_parse(text, n, ret, &reason);
	if (!r) {
		*ret_text = text;
		return 0;
	}
	free(text);
	if (r == -EBADMSG)
		return say(note, r, "seed %s %s; ignored, it will be rebuilt",
			   path, reason);
	if (r == -EPROTONOSUPPORT || r == -EOPNOTSUPP)
		return say(note, r, "seed %s %s; ignored", path, reason);
	return say(note, r, "seed %s: %s; ignored", path, error_text(r));
}

bool
spw_seed_is_ours(const struct spw_seed *seed)
{
	char cpu[SPW_SEED_CPU];
	unsigned cores;

	spw_seed_machine(cpu, &cores);
	return !strcmp(cpu, seed->cpu) && cores == seed->cores;
}

void
spw_seed_drop_speeds(struct spw_seed *seed)
{
	for (size_t i = 0; i < seed->n; i++)
		seed->at[i].pack = seed->at[i].unpack = 0;
}

int
spw_seed_load(struct spw_predictor *p, const char *path,
	      struct spw_seed_note *ret_note)
{
	struct spw_seed seed;
	char *text;
	int r;

	ret_note->text[0] = '\0';
	r = read_seed(path, &seed, &text, ret_note);
	if (r < 0 || !text)
		return r;
	free(text);
	if (!spw_seed_is_ours(&seed)) {
		(void)say(ret_note, 0, "seed %s is of another machine (%.60s, "
			  "%u cores); its speeds are not used", path,
			  seed.cpu[0] ? seed.cpu : "unknown", seed.cores);
		spw_seed_drop_speeds(&seed);
	}
	/* What the pool does not have stays in the file. */
	for (size_t i = 0; i < seed.n; i++)
		(void)spw_predict_tell(p, &seed.at[i]);
	spw_seed_clear(&seed);
	return 0;
}

/* ~/.cache/spillway need not be there yet; a path that is not absolute is no
 * setting.  What cannot be made shows when the file is opened.
 */
static void
make_directories(const char *path)
{
	char dir[PATH_MAX];

	if (*path != '/')
		return;
	for (const char *p = path + 1; (p = strchr(p, '/')); p++) {
		(void)snprintf(dir, sizeof(dir), "%.*s", (int)(p - path), path);
		(void)mkdir(dir, 0700);		/* there already is fine */
	}
}

/* The lock is of the open file: the kernel drops it with the process.
 * -EALREADY: what waits in `own`, if it does, was added by somebody else.
 */
static int
lock_beside(const char *path, const char *own)
{
	const struct timespec nap = { .tv_nsec = 10000000 };
	struct flock lock = { .l_type = F_WRLCK };
	char name[PATH_MAX];
	int fd, n;

	n = snprintf(name, sizeof(name), "%s.lock", path);
	if (n < 0 || (size_t)n >= sizeof(name))
		return -ENAMETOOLONG;
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (!fcntl(fd, F_OFD_SETLK, &lock))
			return fd;
		if (errno != EAGAIN && errno != EACCES && errno != EINTR)
			break;
		if (own[0] && access(own, F_OK)) {
			close(fd);
			return -EALREADY;
		}
		nanosleep(&nap, NULL);
	}
	n = -errno;
	close(fd);
	return n;
}

int
spw_seed_file_write(int fd, const char *text, size_t n)
{
	while (n) {
		ssize_t put = write(fd, text, n);

		if (put < 0)
			return -errno;
		text += put;
		n -= (size_t)put;
	}
	return 0;
}

/* As the file that is there: who could read it still can, and it is still the
 * user's when root has saved to it.  A new one is for its owner alone.
 */
static int
make_like(int fd, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return 0;
	if (fchown(fd, st.st_uid, st.st_gid) < 0 &&
	    fchown(fd, (uid_t)-1, st.st_gid) < 0)
		st.st_mode &= ~(mode_t)S_IRWXG;
	return fchmod(fd, st.st_mode & 0777) < 0 ? -errno : 0;
}

/* Under the lock, so the name beside it is ours, also if somebody who died
 * left one there.
 */
static int
replace(const char *path, const char *text)
{
	char name[PATH_MAX];
	int fd, n, r;

	n = snprintf(name, sizeof(name), "%s.new", path);
	if (n < 0 || (size_t)n >= sizeof(name))
		return -ENAMETOOLONG;
	(void)unlink(name);		/* not there is fine */
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = make_like(fd, path);
	if (!r)
		r = spw_seed_file_write(fd, text, strlen(text));
	if (!r && fsync(fd) < 0)
		r = -errno;
	if (close(fd) < 0 && !r)
		r = -errno;
	if (!r && rename(name, path) < 0)
		r = -errno;
	if (r < 0)
		(void)unlink(name);
	return r;
}

static int
add_known(const struct spw_known *known, void *arg)
{
	return spw_seed_add(arg, known);
}

int
spw_seed_collect(struct spw_predictor *p, struct spw_seed *into)
{
	const size_t before = into->n;
	int r = spw_predict_learned(p, add_known, into);

	if (r < 0)
		into->n = before;
	else
		spw_predict_given(p);
	return r;
}

int
spw_seed_add_all(struct spw_seed *seed, const struct spw_seed *more)
{
	int r = 0;

	for (size_t i = 0; i < more->n && !r; i++)
		r = spw_seed_add(seed, &more->at[i]);
	return r;
}

/* It may be somebody's file that was named by mistake.  The first one stays. */
static void
keep_damaged(const char *path)
{
	char name[PATH_MAX];
	int n = snprintf(name, sizeof(name), "%s.damaged", path);

	if (n > 0 && (size_t)n < sizeof(name))
		(void)link(path, name);		/* better without than not */
}

static int
by_weight(const void *x, const void *y)
{
	const struct spw_known *a = x, *b = y;

	return a->weight > b->weight ? -1 : a->weight < b->weight;
}

/* A file that many jobs have added to keeps what was seen most. */
static void
thin(struct spw_seed *seed)
{
	if (seed->n <= SPW_SEED_KNOWN)
		return;
	qsort(seed->at, seed->n, sizeof(*seed->at), by_weight);
	seed->n = SPW_SEED_KNOWN;
	spw_seed_settle(seed);
}

static int
merge_and_write(const struct spw_seed *more, const char *path,
		const struct spw_seed_profile *profile,
		struct spw_seed_note *note)
{
	struct spw_seed seed;
	char *old, *text;
	int r;

	r = read_seed(path, &seed, &old, note);
	if (r == -EPROTONOSUPPORT)
		return r;
	note->text[0] = '\0';		/* it was told when it was loaded */
	if (r < 0 && r != -EBADMSG)
		return r;
	if (r < 0)
		keep_damaged(path);
	if (!spw_seed_is_ours(&seed))
		spw_seed_drop_speeds(&seed);
	spw_seed_machine(seed.cpu, &seed.cores);
	r = spw_seed_add_all(&seed, more);
	spw_seed_settle(&seed);
	thin(&seed);
	if (!r)
		r = spw_seed_print(old, &seed, profile, &text);
	if (!r && old && strlen(text) > SPW_SEED_MOST) {
		free(text);		/* what else the old one held goes */
		r = spw_seed_print(NULL, &seed, profile, &text);
	}
	free(old);
	spw_seed_clear(&seed);
	if (r < 0)
		return r;
	r = replace(path, text);
	free(text);
	return r;
}

/* Where a link leads, from its own directory if it does not say which. */
static int
step(char path[PATH_MAX], const char *to)
{
	const char *slash = strrchr(path, '/');
	size_t keep = *to != '/' && slash ? (size_t)(slash + 1 - path) : 0;

	if (keep + strlen(to) >= PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(path + keep, to);
	return 0;
}

/* The file that a path means, whether it is there yet or not: a link stays
 * one.
 */
static int
follow(const char *path, char ret[PATH_MAX])
{
	char to[PATH_MAX];
	int r;

	ret[0] = '\0';
	r = step(ret, path);
	for (int i = 0; !r && i < LINKS; i++) {
		ssize_t n = readlink(ret, to, sizeof(to) - 1);

		if (n < 0)
			return 0;	/* what else is wrong shows later */
		to[n] = '\0';
		r = step(ret, to);
	}
	return r ? r : -ELOOP;
}

/* No device, nor a directory; not there yet is fine. */
static int
check_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISREG(st.st_mode) ? -EINVAL : 0;
}

/* Under the lock.  own: where `more` waits, "" if it does not.  Somebody else
 * may have added that.
 */
static int
add_waiting(const struct spw_seed *more, const char *path, const char *own,
	    const struct spw_seed_profile *profile, struct spw_seed_note *note)
{
	struct spw_seed all = { .n = 0 };
	struct spw_seed_queue queue = { .n = 0 };
	int r = spw_seed_queue_take(path, &all, &queue);

	if (!r && !own[0])
		r = spw_seed_add_all(&all, more);
	if (!r && (all.n || profile || !own[0]))
		r = merge_and_write(&all, path, profile, note);
	spw_seed_queue_drop(&queue, r < 0);
	spw_seed_clear(&all);
	return r;
}

/* Without a profile, what waits is as good as saved. */
static int
add(const struct spw_seed *more, const char *path,
    const struct spw_seed_profile *profile, struct spw_seed_note *note,
    int *ret_lock)
{
	char own[PATH_MAX] = "";
	int lock, r;

	make_directories(path);
	if (more->n && spw_seed_queue_put(path, more, own) < 0)
		own[0] = '\0';
	lock = *ret_lock = lock_beside(path, own);
	if (lock == -EALREADY || (lock == -EAGAIN && own[0] && !profile))
		return *ret_lock = 0;
	r = lock < 0 ? lock : add_waiting(more, path, own, profile, note);
	if (lock >= 0)
		close(lock);
	if (r < 0 && own[0])
		(void)unlink(own);	/* the caller has it still */
	return r;
}

static int
save(const struct spw_seed *more, const char *path,
     const struct spw_seed_profile *profile, struct spw_seed_note *ret_note)
{
	char real[PATH_MAX];
	int lock = 0, r;

	ret_note->text[0] = '\0';
	r = follow(path, real);
	if (!r)
		r = check_file(real);
	if (!r)
		r = add(more, real, profile, ret_note, &lock);
	if (r < 0 && !ret_note->text[0])
		(void)say(ret_note, r, "seed %s was not saved: %s", path,
			  lock == -EAGAIN ? "others keep its lock"
			  : r == -EOPNOTSUPP ? "no JSON in this build"
					     : error_text(r));
	return r;
}

int
spw_seed_save_profile(struct spw_predictor *p, const char *path,
		      const struct spw_seed_profile *profile,
		      struct spw_seed_note *ret_note)
{
	struct spw_seed more = { .n = 0 };
	int r = spw_predict_learned(p, add_known, &more);

	ret_note->text[0] = '\0';
	if (!r)
		r = save(&more, path, profile, ret_note);
	if (!r)
		spw_predict_given(p);
	spw_seed_clear(&more);
	return r;
}

int
spw_seed_merge(const struct spw_seed *more, const char *path,
	       struct spw_seed_note *ret_note)
{
	return save(more, path, NULL, ret_note);
}

int
spw_seed_save(struct spw_predictor *p, const char *path,
	      struct spw_seed_note *ret_note)
{
	return spw_seed_save_profile(p, path, NULL, ret_note);
}

void
spw_seed_tiers(const char *path, struct spw_seed_tier *tiers, unsigned n)
{
	char *text = NULL;
	size_t len;

	for (unsigned i = 0; i < n; i++)
		tiers[i].write = 0;
	if (!spw_seed_file_read(path, &text, &len))
		spw_seed_find_tiers(text, tiers, n);
	free(text);
}
