/* SPDX-License-Identifier: BSD-3-Clause */
/* seed-queue.c -- files beside the seed with what is to be added to it */

/* A file comes to have its name when it is complete.  Where a file system has
 * none without a name, it is called .part until then, and one that is old is of
 * somebody who died.
 *
 * Who dies between the rename of the seed and the removal of what was added has
 * that added twice, which costs little.
 */

#include "planner/seed-queue.h"
#include "planner/seed-file.h"
#include "shm/util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MARK "XXXXXX"
#define END ".more"
#define PART ".part"
#define OLD 3600			/* seconds */
#define TRIES 8

/* The directory of a path, without a slash behind it but for the root. */
static void
directory_of(const char *path, char dir[PATH_MAX])
{
	const char *slash = strrchr(path, '/');

	(void)snprintf(dir, PATH_MAX, "%.*s", !slash ? 1 :
		       slash == path ? 1 : (int)(slash - path),
		       slash ? path : ".");
}

static int
print_own(const struct spw_seed *more, char **ret_text)
{
	struct spw_seed seed = *more;

	spw_seed_machine(seed.cpu, &seed.cores);
	return spw_seed_print(NULL, &seed, NULL, ret_text);
}

/* Under a name that nobody has. */
static int
name_file(int fd, const char *path, char name[PATH_MAX])
{
	struct timespec now;
	char own[32];

	(void)snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	for (unsigned i = 0; i < TRIES; i++) {
		clock_gettime(CLOCK_REALTIME, &now);
		(void)snprintf(name, PATH_MAX, "%.*s.%06x" END, PATH_MAX - 20,
			       path, ((unsigned)now.tv_nsec * 0x9e3779b1u ^
				      (unsigned)getpid() * 0x85ebca6bu) >> 8);
		if (!linkat(AT_FDCWD, own, AT_FDCWD, name, AT_SYMLINK_FOLLOW))
			return 0;
	}
	return -errno;
}

static int
put_unnamed(const char *path, const char *text, char name[PATH_MAX])
{
	char dir[PATH_MAX];
	int fd, r;

	directory_of(path, dir);
	fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = spw_seed_file_write(fd, text, strlen(text));
	if (!r)
		r = name_file(fd, path, name);
	close(fd);
	return r;
}

static int
put_named(const char *path, const char *text, char name[PATH_MAX])
{
	char part[PATH_MAX];
	int fd, r;

	(void)snprintf(part, sizeof(part), "%.*s." MARK PART, PATH_MAX - 20,
		       path);
	fd = mkostemps(part, sizeof(PART) - 1, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = spw_seed_file_write(fd, text, strlen(text));
	close(fd);
	strcpy(name, part);
	strcpy(name + strlen(name) - (sizeof(PART) - 1), END);
	if (!r && rename(part, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlink(part);
	return r;
}

int
spw_seed_queue_put(const char *path, const struct spw_seed *more,
		   char name[PATH_MAX])
{
	char *text;
	int r;

	if (strlen(path) > PATH_MAX - 20)
		return -ENAMETOOLONG;
	r = print_own(more, &text);
	if (r < 0)
		return r;
	r = strlen(text) > SPW_SEED_MOST ? -EFBIG
					 : put_unnamed(path, text, name);
	if (r < 0 && r != -EFBIG)
		r = put_named(path, text, name);
	free(text);
	return r;
}

/* "seed.json" and "seed.json.a1B2c3.more" */
static bool
is_queued(const char *name, const char *base, const char *end)
{
	size_t n = strlen(base);

	return !strncmp(name, base, n) && name[n] == '.' &&
	       strlen(name) == n + sizeof("." MARK) - 1 + strlen(end) &&
	       !strcmp(name + n + sizeof("." MARK) - 1, end);
}

static void
remove_old(const char *dir, const char *file)
{
	char path[PATH_MAX];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s/%s", dir, file);

	if (n > 0 && (size_t)n < sizeof(path) && !lstat(path, &st) &&
	    time(NULL) - st.st_mtime > OLD)
		(void)unlink(path);
}

/* -EBADMSG: what was in it is lost. */
static int
take_file(const char *path, struct spw_seed *into)
{
	struct spw_seed seed;
	const char *reason;
	char *text;
	size_t n;
	int r = spw_seed_file_read(path, &text, &n);

	if (r < 0)
		return r;
	r = spw_seed_parse(text, n, &seed, &reason);
	free(text);
	if (r < 0)
		return r;
	if (!spw_seed_is_ours(&seed))
		spw_seed_drop_speeds(&seed);
	r = spw_seed_add_all(into, &seed);
	spw_seed_clear(&seed);
	return r;
}

static int
take(const char *dir, const char *file, struct spw_seed *into,
     struct spw_seed_queue *q)
{
	char path[PATH_MAX];
	size_t before = into->n;
	int r;

	r = snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (r < 0 || (size_t)r >= sizeof(path))
		return 0;
	r = take_file(path, into);
	if (r == -EBADMSG || r == -EFBIG)
		(void)unlink(path);
	if (!r && (q->name[q->n] = strdup(path)))
		q->n++;
	else
		into->n = before;
	return r == -ENOMEM ? r : 0;
}

int
spw_seed_queue_take(const char *path, struct spw_seed *into,
		    struct spw_seed_queue *ret)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	char dir[PATH_MAX];
	struct dirent *at;
	DIR *d;
	int r = 0;

	ret->n = 0;
	directory_of(path, dir);
	d = opendir(dir);
	if (!d)
		return -errno;
	while (!r && ret->n < SPW_SEED_QUEUED && (at = readdir(d)))
		if (is_queued(at->d_name, base, END))
			r = take(dir, at->d_name, into, ret);
		else if (is_queued(at->d_name, base, PART))
			remove_old(dir, at->d_name);
	closedir(d);
	return r;
}

void
spw_seed_queue_drop(struct spw_seed_queue *q, bool keep)
{
	for (unsigned i = 0; i < q->n; i++) {
		if (!keep)
			(void)unlink(q->name[i]);
		free(q->name[i]);
	}
	q->n = 0;
}
