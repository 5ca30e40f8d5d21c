/* SPDX-License-Identifier: BSD-3-Clause */
/* powercut.c -- a directory as a power cut would have left it
 *
 *	powercut points RECORDING
 *	powercut list RECORDING
 *	powercut cut [-e] [-k BELOW:KEPT] RECORDING POINT SEED DIR
 *
 * A recording is made by slowfs (record=FILE).  It has cut points from 0, when
 * nothing was done yet, to the number that `points` prints, after all of it;
 * `list` shows what is done after each.  `cut` fills the empty or new
 * directory DIR with what is there after a power cut at a point, and prints
 * the marks set before it, one in a line.
 *
 * What was synced before the cut is there: the bytes, size and attributes of
 * a file by fsync (fdatasync: without attributes) or by a durable write of
 * them, the names in a directory by fsync of the directory.  A file that was
 * synced may so be without a name; with -e, its fsync also syncs its names
 * and the directories that they are in, as ext4 and XFS do.
 *
 * Files are new ones; with -k, those below the directory BELOW of which slowfs
 * has kept the inodes (keep=KEPT) are these inodes, with one more name than
 * they should have, so that who knows files by their inodes finds them again.
 *
 * Of what was not synced, chance decides, the same for the same seed: each
 * page of 4096 bytes is as it was synced, as it was at some time after, or
 * torn between two of these in sectors of 512; sizes, names and attributes
 * are old or newer, in their order.  Seed 0 drops all that was not synced,
 * seed 1 keeps all that was done; the others mix.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/powercut.h"

struct chance
chance_of(const struct cut *cut, uint64_t number)
{
	struct chance c = { cut->seed, cut->seed * 0x9e3779b97f4a7c15 ^
			    number << 32 ^ cut->end };

	chance_draw(&c);
	return c;
}

/* A counter, mixed well: splitmix64. */
uint64_t
chance_draw(struct chance *c)
{
	uint64_t z = c->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

bool
chance_is_free(const struct chance *c)
{
	return c->seed > 1;
}

/* Both ends are as likely as all between them. */
size_t
chance_pick(struct chance *c, size_t lo, size_t hi)
{
	uint64_t draw;

	if (!chance_is_free(c))
		return c->seed ? hi : lo;
	draw = chance_draw(c);
	if (draw % 3 == 0)
		return lo;
	if (draw % 3 == 1)
		return hi;
	return lo + (size_t)(draw / 3 % (hi - lo + 1));
}

static void
list(const struct recording *rec)
{
	static const char *const kinds[] = {
		"", "start", "make", "link", "remove", "rename", "write",
		"truncate", "allocate", "attributes", "xattr", "sync", "mark",
	};
	const struct record *r;
	size_t i;

	for (i = rec->start; i < rec->n; i++) {
		r = rec->ops[i].r;
		printf("%zu %s node %" PRIu64 " off %" PRIu64 " len %" PRIu64
		       "%s%s", i - rec->start, kinds[r->kind], r->node, r->off,
		       r->len, r->flags & RECORD_DURABLE ? " durable" : "",
		       r->flags & RECORD_DATA_ONLY ? " data only" : "");
		if (r->name_len)
			printf(" %.*s", (int)r->name_len, rec->ops[i].name);
		if (r->name2_len)
			printf(" %.*s", (int)r->name2_len, rec->ops[i].name2);
		if (r->kind == RECORD_MARK)
			printf(" %.*s", (int)r->data_len, rec->ops[i].data);
		putchar('\n');
	}
}

struct tree {
	struct cut cut;
	struct entry **dirs;
	char **paths;			/* where a node was made first */
	const char *below;		/* where inodes are to be kept ones */
	const char *kept;		/* those, by their numbers; or NULL */
	int top;
};

static void make_all(struct tree *t, uint64_t dir, const char *path);

static void
make_special(struct tree *t, const struct op *op, const char *path)
{
	char to[4096] = "";

	if (S_ISLNK(op->r->mode)) {
		memcpy(to, op->name2, op->r->name2_len);
		if (symlinkat(to, t->top, path) < 0)
			die(path);
	} else if (mknodat(t->top, path, op->r->mode, 0) < 0) {
		die(path);
	}
}

/* The inode that it was, emptied; -1: it was not kept. */
static int
open_kept(const struct tree *t, uint64_t node, const char *path)
{
	char from[4096];

	if (!t->kept || strncmp(path + 2, t->below, strlen(t->below)))
		return -1;
	snprintf(from, sizeof(from), "%s/%" PRIu64, t->kept, node);
	if (linkat(AT_FDCWD, from, t->top, path, 0) < 0)
		return -1;
	return openat(t->top, path, O_RDWR | O_TRUNC);
}

static void
make_file(struct tree *t, uint64_t node, mode_t mode, const char *path)
{
	int fd = -1;

	if (S_ISDIR(mode) && mkdirat(t->top, path, 0700) < 0)
		die(path);
	if (S_ISDIR(mode))
		make_all(t, node, path);
	else
		fd = open_kept(t, node, path);
	if (fd < 0)
		fd = openat(t->top, path, S_ISDIR(mode)
			    ? O_RDONLY | O_DIRECTORY
			    : O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		die(path);
	file_after(&t->cut, node, fd);
	close(fd);
}

static void
make_entry(struct tree *t, const struct entry *e, char *path)
{
	size_t made = t->cut.rec->made[e->node];
	mode_t mode;

	if (made == NONE)		/* came from outside the mount */
		return;
	mode = t->cut.rec->ops[made].r->mode;
	if (t->paths[e->node]) {
		if (!S_ISDIR(mode) && linkat(t->top, t->paths[e->node],
					     t->top, path, 0) < 0)
			die(path);
		return;
	}
	t->paths[e->node] = strdup(path);
	if (S_ISDIR(mode) || S_ISREG(mode))
		make_file(t, e->node, mode, path);
	else
		make_special(t, &t->cut.rec->ops[made], path);
}

static void
make_all(struct tree *t, uint64_t dir, const char *path)
{
	const struct entry *e;
	char below[4096];

	for (e = t->dirs[dir]; e; e = e->next) {
		snprintf(below, sizeof(below), "%s/%.*s", path, (int)e->len,
			 e->name);
		make_entry(t, e, below);
	}
}

static void
tell_marks(const struct cut *cut)
{
	const struct op *op;
	size_t i;

	for (i = cut->rec->start; i < cut->end; i++) {
		op = &cut->rec->ops[i];
		if (op->r->kind == RECORD_MARK)
			printf("%.*s\n", (int)op->r->data_len, op->data);
	}
}

static void
free_tree(struct tree *t)
{
	struct entry *e;
	uint64_t i;

	for (i = 0; i < t->cut.rec->nnodes; i++) {
		while ((e = t->dirs[i])) {
			t->dirs[i] = e->next;
			free(e);
		}
		free(t->paths[i]);
	}
	free(t->dirs);
	free(t->paths);
}

static int
open_empty(const char *path)
{
	struct dirent *d;
	DIR *dir;
	int fd;

	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		die(path);
	dir = opendir(path);
	if (!dir)
		die(path);
	while ((d = readdir(dir)))
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, "..")) {
			errno = ENOTEMPTY;
			die(path);
		}
	fd = fcntl(dirfd(dir), F_DUPFD_CLOEXEC, 0);
	closedir(dir);
	return fd;
}

static void
cut(struct tree *t, char **argv)
{
	const struct recording *rec = t->cut.rec;

	t->cut.end = rec->start + strtoull(argv[0], NULL, 10);
	t->cut.seed = strtoull(argv[1], NULL, 10);
	errno = ERANGE;
	if (t->cut.end > rec->n)
		die(argv[0]);
	t->top = open_empty(argv[2]);
	t->dirs = names_after(&t->cut);
	t->paths = need(rec->nnodes, sizeof(*t->paths));
	make_all(t, RECORD_ROOT, ".");
	tell_marks(&t->cut);
	free_tree(t);
	close(t->top);
}

static int
usage(void)
{
	fprintf(stderr, "usage: powercut points RECORDING\n"
		"       powercut list RECORDING\n"
		"       powercut cut [-e] [-k BELOW:KEPT] RECORDING POINT "
		"SEED DIR\n");
	return 2;
}

int
main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";
	struct tree t = { .kept = NULL };
	struct recording rec;
	int c;

	while ((c = getopt(argc > 1 ? argc - 1 : argc, argv + (argc > 1),
			   "ek:")) != -1) {
		if (c == '?' || strcmp(command, "cut"))
			return usage();
		t.cut.names_with_files |= c == 'e';
		if (c == 'k') {
			t.below = strtok(optarg, ":");
			t.kept = strtok(NULL, "");
		}
	}
	argv += 1 + optind;
	argc -= 1 + optind;
	if (argc < 1)
		return usage();
	umask(0);
	mallopt(M_TOP_PAD, 16 << 20);	/* a few calls for all pages */
	rec = recording_read(argv[0]);
	t.cut.rec = &rec;
	if (argc == 1 && !strcmp(command, "points"))
		printf("%zu\n", rec.n - rec.start);
	else if (argc == 1 && !strcmp(command, "list"))
		list(&rec);
	else if (argc == 4 && !strcmp(command, "cut"))
		cut(&t, argv + 1);
	else
		return usage();
	free(rec.ops);
	free(rec.first);
	free(rec.made);
	return 0;
}
