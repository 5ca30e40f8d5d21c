/* SPDX-License-Identifier: BSD-3-Clause */
/* name-forms.c -- renames, links and unlinks of files that were just written */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
say(const char *what, int r)
{
	printf("%s: %s\n", what, r < 0 ? strerror(errno) : "done");
}

/* Each file has its own letter, so that a mix-up shows. */
static void
put(int fd, char letter, size_t n)
{
	char *buf = malloc(n);

	memset(buf, letter, n);
	if (write(fd, buf, n) != (ssize_t)n)
		err(1, "write");
	free(buf);
}

static int
make(const char *name, char letter, size_t n)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);

	if (fd < 0)
		err(1, "%s", name);
	put(fd, letter, n);
	return fd;
}

static void
make_closed(const char *name, char letter, size_t n)
{
	close(make(name, letter, n));
}

static void
show_fd(const char *what, int fd)
{
	char first = '?', last = '?';
	struct stat st;

	if (fstat(fd, &st) < 0)
		err(1, "%s", what);
	if (st.st_size && (pread(fd, &first, 1, 0) != 1 ||
			   pread(fd, &last, 1, st.st_size - 1) != 1))
		err(1, "%s", what);
	printf("%s: %lld bytes from %c to %c, %lu links\n", what,
	       (long long)st.st_size, first, last, (unsigned long)st.st_nlink);
}

static void
show(const char *name)
{
	int fd = open(name, O_RDONLY);

	if (fd < 0) {
		say(name, -1);
		return;
	}
	show_fd(name, fd);
	close(fd);
}

static void
rename_files(void)
{
	int fd = make("a", 'a', 10000), victim;

	say("rename while open", rename("a", "b"));
	put(fd, 'A', 10);
	show("a");
	show("b");
	close(fd);
	make_closed("c", 'c', 20000);
	say("rename when closed", rename("c", "d"));
	show("d");
	make_closed("e", 'e', 3000);
	make_closed("f", 'f', 50000);
	say("rename over a file", rename("e", "f"));
	show("f");
	victim = make("g", 'g', 30000);
	make_closed("h", 'h', 4000);
	say("rename over an open file", rename("h", "g"));
	put(victim, 'G', 5);
	show_fd("the open one", victim);
	show("g");
	close(victim);
	show("g");
	say("rename onto itself", rename("g", "g"));
	say("rename nothing", rename("nothing", "g"));
	say("rename into a file", rename("g", "f/g"));
	show("g");
}

static void
rename_directories(void)
{
	int fd, dir;

	if (mkdir("one", 0755) < 0 || mkdir("one/in", 0755) < 0)
		err(1, "mkdir");
	make_closed("one/x", 'x', 9000);
	make_closed("one/in/z", 'z', 5000);
	fd = make("one/y", 'y', 9000);
	say("rename a directory", rename("one", "two"));
	put(fd, 'Y', 100);
	close(fd);
	show("two/x");
	show("two/y");
	show("two/in/z");
	dir = open("two", O_RDONLY | O_DIRECTORY);
	say("renameat out of it", renameat(dir, "x", AT_FDCWD, "x"));
	show("x");
	say("rename it again", rename("two", "three"));
	show("three/y");
	close(dir);
	make_closed("three/last", 'l', 100);
	say("rename to a name with dots", rename("three", "./three/../four/"));
	show("four/last");
}

static void
swap(void)
{
	if (mkdir("left", 0755) < 0 || mkdir("right", 0755) < 0)
		err(1, "mkdir");
	make_closed("left/l", '<', 6000);
	make_closed("right/r", '>', 7000);
	make_closed("p", 'p', 11000);
	make_closed("q", 'q', 12000);
	say("swap files", renameat2(AT_FDCWD, "p", AT_FDCWD, "q",
				    RENAME_EXCHANGE));
	show("p");
	show("q");
	say("swap directories", renameat2(AT_FDCWD, "left", AT_FDCWD, "right",
					  RENAME_EXCHANGE));
	show("left/r");
	show("right/l");
	say("swap a file and a directory",
	    renameat2(AT_FDCWD, "left", AT_FDCWD, "p", RENAME_EXCHANGE));
	show("p/r");
	show("left");
	say("replace nothing", renameat2(AT_FDCWD, "q", AT_FDCWD, "left",
					 RENAME_NOREPLACE));
	show("q");
}

static void
link_files(void)
{
	int fd;

	/* The way of version control: write, link, unlink. */
	make_closed("tmp", 't', 8000);
	say("link", link("tmp", "object"));
	say("unlink", unlink("tmp"));
	show("object");
	fd = make("m", 'm', 5000);
	say("linkat", linkat(AT_FDCWD, "m", AT_FDCWD, "n", 0));
	put(fd, 'M', 50);
	show("n");
	say("unlink the first", unlink("m"));
	put(fd, 'N', 50);
	show_fd("still open", fd);
	close(fd);
	show("n");
	make_closed("k", 'k', 5000);
	say("two more", link("k", "k2") | link("k", "k3"));
	say("unlink two", unlink("k3") | unlink("k"));
	show("k2");
	make_closed("o", 'o', 2000);
	say("rename over a linked file", rename("o", "k2"));
	show("k2");
	say("link over", link("k2", "n"));
}

static void
unlink_files(void)
{
	int fd = make("r", 'r', 60000);

	say("unlink while open", unlink("r"));
	put(fd, 'R', 10);
	show_fd("gone but open", fd);
	fsync(fd);
	show_fd("after fsync", fd);
	close(fd);
	show("r");
	make_closed("r", 's', 100);
	show("r");
	make_closed("s", 's', 200000);
	say("unlink when closed", unlink("s"));
	show("s");
	make_closed("s", 'u', 10);
	say("remove", remove("s"));
	say("remove again", remove("s"));
	make_closed("s", 'v', 30);
	say("unlinkat", unlinkat(AT_FDCWD, "s", 0));
	if (mkdir("dir", 0755) < 0)
		err(1, "mkdir");
	say("unlink a directory", unlink("dir"));
	say("remove a directory", remove("dir"));
	say("rmdir by unlinkat", mkdir("dir", 0755) |
	    unlinkat(AT_FDCWD, "dir", AT_REMOVEDIR));
}

int
main(void)
{
	rename_files();
	rename_directories();
	swap();
	link_files();
	unlink_files();
	return fflush(stdout) || ferror(stdout);
}
