/* SPDX-License-Identifier: BSD-3-Clause */
/* tiercheck.c -- compare the list of tiers with the machine */

#include "shm/tierspec.h"

#include "shm/sys.h"

#include <errno.h>
#include <string.h>

#define RAM_AUTO_MOST (UINT64_C(4) << 30)
#define RAM_SMALL (UINT64_C(16) << 20)	/* worth a word */

struct check {
	struct spw_tierlist *list;
	struct spw_tierspec *tier;
	const struct spw_tierspec_where *where;
	struct spw_machine machine;
	struct spw_diag *diag;
};

enum part { WHOLE, PLACE, CAPACITY };

/* Begin a message about a part of the tier; a default has no text. */
static struct spw_diag *
blame(struct check *c, enum spw_code code, enum part part)
{
	const struct spw_tierspec *t = c->tier;
	const char *src = c->list->source;
	size_t at = t->at, len = t->len;

	if (part == PLACE && t->place_len) {
		at = t->place_at;
		len = t->place_len;
	} else if (part == CAPACITY && t->cap_len) {
		at = t->cap_at;
		len = t->cap_len;
	}
	spw_diag_begin(c->diag, SPW_ERROR, code);
	spw_diag_subject(c->diag, "tier %s",
			 spw_tierspec_kind_name(t->kind));
	if (strcmp(src, "ram@auto"))
		spw_diag_text(c->diag, src, strlen(src), at, len);
	return c->diag;
}

static uint64_t
percent_of(uint64_t whole, unsigned percent)
{
	return whole / 100 * percent + whole % 100 * percent / 100;
}

/* 32M: half of what there is, as one would write it. */
static void
put_half(struct spw_diag *d, uint64_t bytes)
{
	static const char unit[] = "KMGTPE";
	unsigned u = 0;

	bytes >>= 11;			/* half of it, in K */
	while (bytes >= 1024 * 10 && u + 2 < sizeof(unit)) {
		bytes >>= 10;
		u++;
	}
	spw_diag_hint(d, "%l", bytes);
	spw_diag_hint(d, "%E", unit + u, (size_t)1);
}

static int
blame_shm(struct check *c, uint64_t shm_free)
{
	struct spw_diag *d = blame(c, SPW_E150, CAPACITY);

	spw_diag_cause(d, "segment of %z does not fit, %e has %z free",
		       c->tier->capacity, c->where->shm_dir, shm_free);
	if (shm_free >= 2 * SPW_RAM_MIN) {
		spw_diag_hint(d, "write ram@");
		put_half(d, shm_free);
		spw_diag_hint(d, ", or ");
	}
	spw_diag_hint(d, "make room there (docker run --shm-size=10g)");
	return -EINVAL;
}

static int
blame_memory(struct check *c, uint64_t memory)
{
	struct spw_diag *d = blame(c, SPW_E150, CAPACITY);
	bool group = c->machine.cgroup_left == memory;

	spw_diag_cause(d, "segment of %z does not fit, ", c->tier->capacity);
	spw_diag_cause(d, group ? "the job's memory limit leaves %z"
		       : "%z of memory are available", memory);
	if (memory >= 2 * SPW_RAM_MIN) {
		spw_diag_hint(d, "write ram@");
		put_half(d, memory);
		spw_diag_hint(d, " or ram@auto");
	} else {
		spw_diag_hint(d, "ask for more memory");
	}
	return -EINVAL;
}

static uint64_t
least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Nobody asked for a size, so the program runs with what there is. */
static void
warn_small(struct check *c, uint64_t shm_free)
{
	spw_diag_begin(c->diag, SPW_WARNING, SPW_W152);
	spw_diag_subject(c->diag, "tier ram");
	spw_diag_cause(c->diag, "takes only %z, %e has %z free",
		       c->tier->capacity, c->where->shm_dir, shm_free);
	spw_diag_hint(c->diag, "make room there (docker run --shm-size=10g)");
}

static int
check_ram(struct check *c)
{
	struct spw_tierspec *t = c->tier;
	uint64_t memory = spw_machine_memory(&c->machine), shm_free;
	int r;

	r = spw_machine_space(c->where->shm_dir, &shm_free);
	if (r < 0) {
		blame(c, SPW_E111, WHOLE);
		spw_diag_cause(c->diag, "shm-dir %e: %s", c->where->shm_dir,
			       spw_diag_errno(r));
		spw_diag_hint(c->diag, "set shm-dir to a directory in"
			      " memory, e.g. /dev/shm");
		return -EINVAL;
	}
	if (t->cap == SPW_CAP_PERCENT)
		t->capacity = percent_of(memory == SPW_UNLIMITED ? shm_free
					 : memory, t->percent);
	if (t->cap == SPW_CAP_AUTO)
		t->capacity = least(least(RAM_AUTO_MOST, memory / 4),
				    least(shm_free / 2,
					  c->machine.address_space / 16));
	if (t->capacity < SPW_RAM_MIN)
		t->capacity = SPW_RAM_MIN;
	if (t->capacity > shm_free)
		return blame_shm(c, shm_free);
	if (t->capacity > memory)
		return blame_memory(c, memory);
	if (t->cap == SPW_CAP_AUTO && shm_free / 2 < RAM_SMALL)
		warn_small(c, shm_free);
	return 0;
}

static void
put_user(struct spw_diag *d, unsigned id)
{
	if (id)
		spw_diag_cause(d, "%u", id);
	else
		spw_diag_cause(d, "root");
}

static int
blame_unwritable(struct check *c, const char *dir, int r)
{
	struct spw_diag *d = blame(c, SPW_E110, PLACE);
	struct stat st;

	spw_diag_cause(d, "cannot create a file in %e: %s", dir,
		       spw_diag_errno(r));
	if (!spw_sys_fstatat(AT_FDCWD, dir, &st, 0)) {
		spw_diag_cause(d, " (");
		put_user(d, st.st_uid);
		spw_diag_cause(d, ":");
		put_user(d, st.st_gid);
		spw_diag_cause(d, " %o, you are uid %u)", st.st_mode & 07777,
			       spw_sys_geteuid());
	}
	spw_diag_hint(d, "use a directory of yours, e.g. '%s:${TMPDIR}@80%%'",
		      spw_tierspec_kind_name(c->tier->kind));
	return -EINVAL;
}

/* A named file, for file systems that cannot make an unnamed one. */
static int
create_named(const char *dir)
{
	char name[SPW_PATH_MAX];
	struct spw_text t;
	int fd;

	spw_text_init(&t, name, sizeof(name));
	spw_text_fmt(&t, "%s/.spillway-probe.%u", dir,
		    (unsigned)spw_sys_getpid());
	if (t.cut)
		return -ENAMETOOLONG;
	fd = spw_sys_open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW
			  | O_CLOEXEC, 0600);
	if (fd < 0)
		return fd;
	(void)spw_sys_close(fd);
	(void)spw_sys_unlink(name);	/* ours, made a line above */
	return 0;
}

int
spw_tierspec_try(const char *dir)
{
	int fd = spw_sys_open(dir, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	if (fd >= 0)
		(void)spw_sys_close(fd);
	else if (fd == -EOPNOTSUPP || fd == -EISDIR || fd == -ENOENT)
		return create_named(dir);
	return fd < 0 ? fd : 0;
}

void
spw_tierspec_blame_deaf(const struct spw_tierlist *list, unsigned i,
			enum spw_severity severity, struct spw_diag *ret_diag)
{
	bool used = severity == SPW_ERROR;

	spw_diag_begin(ret_diag, severity, used ? SPW_E111 : SPW_W117);
	spw_diag_subject(ret_diag, "tier %s: %e",
			 spw_tierspec_kind_name(list->tier[i].kind),
			 spw_tierspec_place(list, &list->tier[i]));
	spw_diag_cause(ret_diag, "%sdoes not answer: its file system stalls",
		       used ? "" : "is not used: ");
}

unsigned
spw_tierspec_sift(struct spw_tierlist *list,
		  bool (*is_deaf)(const char *place),
		  void (*tell)(void *arg, const struct spw_diag *d), void *arg)
{
	unsigned kept = 0, n = list->n;
	struct spw_diag d;

	for (unsigned i = 0; i < n; i++) {
		if (spw_tierspec_is_directory(list->tier[i].kind) &&
		    is_deaf(spw_tierspec_place(list, &list->tier[i]))) {
			spw_tierspec_blame_deaf(list, i, SPW_WARNING, &d);
			tell(arg, &d);
			continue;
		}
		list->tier[kept++] = list->tier[i];
	}
	list->n = kept;
	return n - kept;
}

static int
check_writable(struct check *c, const char *dir)
{
	int r = spw_tierspec_try(dir);

	return r < 0 ? blame_unwritable(c, dir, r) : 0;
}

static bool
is_below_any(const char *dir, const struct spw_dirs *dirs, const char **ret)
{
	char real[SPW_PATH_MAX];

	for (unsigned i = 0; i < dirs->n; i++) {
		const char *d = spw_dirs_get(dirs, i);

		/* one that is not there yet counts by its name */
		if (spw_path_is_below(dir, d)
		    || (!spw_path_real(d, real)
			&& spw_path_is_below(dir, real))) {
			*ret = d;
			return true;
		}
	}
	return false;
}

static bool
is_never_managed(const char *dir)
{
	return spw_path_is_below(dir, "/dev")
	    || spw_path_is_below(dir, "/proc")
	    || spw_path_is_below(dir, "/sys");
}

static int
check_recursion(struct check *c, const char *real)
{
	const char *dir = spw_tierspec_place(c->list, c->tier);
	const char *above, *out;
	struct spw_diag *d;

	if (is_never_managed(real)
	    || !is_below_any(real, c->where->include, &above)
	    || is_below_any(real, c->where->exclude, &out))
		return 0;
	d = blame(c, SPW_E113, PLACE);
	spw_diag_cause(d, "%e lies in %e, whose files are themselves"
		       " accelerated", dir, above);
	spw_diag_hint(d, "use a directory elsewhere, or --exclude %e", dir);
	return -EINVAL;
}

/* Two names of one directory, which the text alone does not show. */
static int
check_twin(struct check *c, const struct stat *st)
{
	const struct spw_tierspec *old = c->list->tier;
	struct stat other;

	for (; old < c->tier; old++)
		if (spw_tierspec_is_directory(old->kind)
		    && !spw_sys_fstatat(AT_FDCWD,
					spw_tierspec_place(c->list, old),
					&other, 0)
		    && other.st_dev == st->st_dev
		    && other.st_ino == st->st_ino)
			break;
	if (old == c->tier)
		return 0;
	blame(c, SPW_E184, PLACE);
	spw_diag_cause(c->diag, "%e is the directory of tier %u",
		       spw_tierspec_place(c->list, c->tier),
		       (unsigned)(old - c->list->tier) + 1);
	spw_diag_hint(c->diag, "give each tier a directory of its own");
	return -EINVAL;
}

static int
check_space(struct check *c, const char *dir)
{
	struct spw_tierspec *t = c->tier;
	uint64_t room;
	int r;

	r = spw_machine_space(dir, &room);
	if (r < 0)
		return blame_unwritable(c, dir, r);
	if (t->cap == SPW_CAP_PERCENT)
		t->capacity = percent_of(room, t->percent);
	if (t->cap == SPW_CAP_AUTO)
		t->capacity = room / 2;
	if (t->capacity <= room)
		return 0;
	blame(c, SPW_E112, CAPACITY);
	spw_diag_cause(c->diag, "%z is more than %e has, %z are free",
		       t->capacity, dir, room);
	spw_diag_hint(c->diag, "write @80%% for a share of what is free, or"
		      " @");
	put_half(c->diag, room);
	return -EINVAL;
}

static int
check_directory(struct check *c)
{
	const char *dir = spw_tierspec_place(c->list, c->tier);
	char real[SPW_PATH_MAX];
	struct stat st;
	int r;

	r = spw_path_real(dir, real);
	if (!r)
		r = spw_sys_fstatat(AT_FDCWD, dir, &st, 0);
	if (r == -ENOENT || r == -ENOTDIR) {
		blame(c, SPW_E111, PLACE);
		spw_diag_cause(c->diag, "%e: %s", dir, spw_diag_errno(r));
		spw_diag_hint(c->diag, r == -ENOENT ? "mkdir -p %e"
			      : "use a directory in place of %e", dir);
		return -EINVAL;
	}
	if (r < 0)
		return blame_unwritable(c, dir, r);
	r = check_writable(c, dir);
	if (!r)
		r = check_recursion(c, real);
	if (!r)
		r = check_twin(c, &st);
	return r < 0 ? r : check_space(c, dir);
}

int
spw_tierspec_check(struct spw_tierlist *list,
		   const struct spw_tierspec_where *where,
		   struct spw_diag *ret_diag)
{
	struct check c = { .list = list, .where = where, .diag = ret_diag };
	int r = 0;

	if (where->machine)
		c.machine = *where->machine;
	else
		spw_machine_probe("", &c.machine);
	for (unsigned i = 0; i < list->n && !r; i++) {
		c.tier = &list->tier[i];
		if (c.tier->kind == SPW_KIND_RAM)
			r = check_ram(&c);
		else if (spw_tierspec_is_directory(c.tier->kind))
			r = check_directory(&c);
	}
	return r;
}
