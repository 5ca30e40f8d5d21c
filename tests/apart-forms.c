/* SPDX-License-Identifier: BSD-3-Clause */
/* apart-forms.c -- files used in ways that one table of descriptors hides */

/*
 * usage: apart-forms BEHAVIOUR
 *
 * Works in the current directory and tells what it sees.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/told.h"

static int
start(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);

	if (fd < 0)
		told_die(name);
	TELL(write(fd, "first,", 6));
	return fd;
}

static void
show(int fd)
{
	char text[100] = "";
	struct stat st;

	TELL(fstat(fd, &st));
	TELL(pread(fd, text, sizeof(text) - 1, 0));
	printf("%lld bytes, at %lld: %s\n", (long long)st.st_size,
	       (long long)lseek(fd, 0, SEEK_CUR), text);
}

/* The number stands for another file in the thread than in the program. */
static void
reuse(int fd)
{
	TELL(write(fd, "thread,", 7));
	TELL(close(fd));
	TELL(open("other", O_RDWR | O_CREAT | O_TRUNC, 0644) == fd);
	TELL(write(fd, "other,", 6));
	show(fd);
}

static void *
reuse_unshared(void *arg)
{
	TELL(unshare(CLONE_FILES));
	reuse(*(int *)arg);
	return NULL;
}

static void *
reuse_range(void *arg)
{
	TELL(close_range(100, 200, CLOSE_RANGE_UNSHARE));
	reuse(*(int *)arg);
	return NULL;
}

static void *
reuse_marked(void *arg)
{
	TELL(close_range(100, 200, CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC));
	reuse(*(int *)arg);
	return NULL;
}

static void
beside_thread(void *(*run)(void *))
{
	int fd = start("mine");
	pthread_t t;

	if (pthread_create(&t, NULL, run, &fd))
		told_die("thread");
	pthread_join(t, NULL);
	TELL(write(fd, "last", 4));
	show(fd);
	TELL(close(fd));
	show(start("later"));
}

static void
unshared(void)
{
	beside_thread(reuse_unshared);
}

static void
range(void)
{
	beside_thread(reuse_range);
}

static void
marked(void)
{
	beside_thread(reuse_marked);
}

static void
another_libc(void)
{
	int fd = start("mine");
	void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
	ssize_t (*its_write)(int, const void *, size_t);

	if (!libc)
		told_die("dlmopen");
	its_write = (ssize_t (*)(int, const void *, size_t))
		    dlsym(libc, "write");
	TELL(its_write(fd, "its,", 4));
	TELL(write(fd, "ours,", 5));
	TELL(its_write(fd, "its", 3));
	show(fd);
}

static void
lease(void)
{
	int fd = start("mine");

	TELL(fcntl(fd, F_SETLEASE, F_WRLCK));
	TELL(fcntl(fd, F_GETLEASE));
	TELL(write(fd, "leased,", 7));
	TELL(fcntl(fd, F_SETLEASE, F_UNLCK));
	TELL(write(fd, "free", 4));
	show(fd);
	fd = start("mapped");
	TELL(fcntl(fd, F_SETFL, O_DIRECT));
	TELL(fcntl(fd, F_SETFL, 0));
	TELL(fcntl(fd, F_SETLEASE, F_WRLCK));
	TELL(fcntl(fd, F_GETLEASE));
}

/* As after chroot, or with other rights: $SEGMENTS is not where it was. */
static void
out_of_sight(void)
{
	const char *name = getenv("SEGMENTS");
	char away[4096];
	int fd = start("mine");

	snprintf(away, sizeof(away), "%s.away", name ? name : "");
	if (name && rename(name, away) < 0)
		told_die(name);
	usleep(300000);			/* it looks for a drainer by then */
	TELL(write(fd, "second,", 7));
	TELL(fsync(fd));
	TELL(fallocate(fd, 0, 0, 100));
	TELL(write(fd, "third", 5));
	TELL(fsync(fd));
	if (name && rename(away, name) < 0)
		told_die(away);
	show(fd);
}

int
main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } all[] = {
		{ "unshared", unshared }, { "range", range }, { "marked", marked },
		{ "another-libc", another_libc }, { "lease", lease },
		{ "out-of-sight", out_of_sight },
	};

	told_begin();
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (argc < 2 || strcmp(argv[1], all[i].name) == 0)
			all[i].run();
	return 0;
}
