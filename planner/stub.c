/* SPDX-License-Identifier: BSD-3-Clause */
/* stub.c -- what stands at a file's own path while its bytes are kept below */
#include "planner/stub.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "planner/attr.h"
#include "shm/failpoint.h"
#include "shm/files.h"
#include "shm/stubmark.h"
#include "shm/sys.h"
#include "shm/util.h"

enum {
	RIGHTS = 0777, NOTICE = 4096,
	GRAIN = 1 << 20,		/* no file system allocates more at once */
};

static const char nothing[NOTICE];

static const char *const states[] = {
	[SPW_STUB_KEPT] = "kept", [SPW_STUB_COMING] = "coming",
	[SPW_STUB_HOME] = "home",
};

static int
set_mode(int fd, uint32_t mode)
{
	return (int)spw_syscall(SYS_fchmod, fd, (long)mode, 0, 0, 0, 0);
}

static int
sync_file(int fd)
{
	return (int)spw_syscall(SYS_fsync, fd, 0, 0, 0, 0, 0);
}

static int
parse(const char *text, struct spw_stub *s)
{
	unsigned long long ino, size;
	long long btime, mtime;
	char state[8];
	int at = 0;

	if (sscanf(text, "1 state=%7s share=%255s host=%64s ino=%llu "
		   "btime=%lld size=%llu mtime=%lld mode=%o objects=%u "
		   "tiers=%n", state, s->share, s->host, &ino, &btime, &size,
		   &mtime, &s->mode, &s->objects, &at) != 9 || !at ||
	    s->mode & ~07777u)
		return -EINVAL;
	s->ino = ino;
	s->size = size;
	s->btime = btime;
	s->mtime = mtime;
	snprintf(s->tiers, sizeof(s->tiers), "%s", text + at);
	for (int i = 0; i <= SPW_STUB_HOME; i++)
		if (!strcmp(state, states[i])) {
			s->state = (enum spw_stub_state)i;
			return 0;
		}
	return -EINVAL;
}

static int
write_attr(int fd, const struct spw_stub *s)
{
	char text[SPW_STUB_MAX];
	int n = snprintf(text, sizeof(text), "1 state=%s share=%s host=%s "
		"ino=%llu btime=%lld size=%llu mtime=%lld mode=%o objects=%u "
		"tiers=%s", states[s->state], s->share, s->host,
		(unsigned long long)s->ino, (long long)s->btime,
		(unsigned long long)s->size, (long long)s->mtime, s->mode,
		s->objects, s->tiers);

	if (n < 0 || (size_t)n >= sizeof(text))
		return -E2BIG;
	n = spw_attr_set(fd, SPW_STUB_ATTR, text, (size_t)n);
	return n < 0 ? n : sync_file(fd);
}

int
spw_stub_read(int fd, struct spw_stub *ret)
{
	char text[SPW_STUB_MAX];
	int n = spw_attr_get(fd, SPW_STUB_ATTR, text, sizeof(text) - 1);
	struct spw_identity id;

	if (n < 0)
		return n;
	text[n] = '\0';
	n = parse(text, ret);
	if (n < 0)
		return n;
	id = (struct spw_identity){
		.ino = ret->ino, .btime = ret->btime, .any_dev = true,
	};
	return spw_find_is(fd, &id) ? 0 : -ESTALE;
}

int
spw_stub_open(const char *path, struct spw_stub *ret)
{
	int r, fd = spw_find_open(path, O_NOFOLLOW, NULL);

	if (fd < 0)
		return fd;
	r = spw_stub_read(fd, ret);
	if (r == 0)
		return fd;
	spw_sys_close(fd);
	return r;
}

static int
set_time(int fd, int64_t mtime)
{
	struct timespec ts[2] = { { 0, UTIME_OMIT }, spw_timespec(mtime) };

	return (int)spw_syscall(SYS_utimensat, fd, 0, (long)ts, 0, 0, 0);
}

static uint64_t
make_notice(const struct spw_stub *s, char text[NOTICE])
{
	int n = snprintf(text, NOTICE, SPW_STUB_NOTICE "it is kept in %s on "
		"%s\nspillway: to bring it back here: spillway stage out "
		"FILE\n", s->tiers, s->host);

	return SPW_MIN((uint64_t)SPW_MIN(n, NOTICE - 1), s->size);
}

static int
put_notice(int fd, const struct spw_stub *s)
{
	char text[NOTICE];
	uint64_t len = make_notice(s, text);
	int64_t put = len ? spw_sys_pwrite(fd, text, len, 0) : 0;

	return put < 0 ? (int)put : (uint64_t)put < len ? -EIO : 0;
}

static int
dress(int fd, const struct spw_stub *s)
{
	int r = put_notice(fd, s);

	SPW_FAILPOINT("stub-notice");
	if (r == 0)
		r = set_mode(fd, s->mode & ~(uint32_t)RIGHTS);
	if (r == 0)
		r = set_time(fd, s->mtime);
	return r < 0 ? r : sync_file(fd);
}

int
spw_stub_make(int fd, const struct spw_stub *s)
{
	int r = spw_sys_ftruncate(fd, s->size);

	if (r == 0)
		r = set_time(fd, s->mtime);
	if (r == 0)
		r = write_attr(fd, s);
	SPW_FAILPOINT("stub-attribute");
	return r < 0 ? r : dress(fd, s);
}

int
spw_stub_remake(int fd, struct spw_stub *s)
{
	int r = spw_sys_ftruncate(fd, 0);

	if (r == 0)
		r = spw_sys_ftruncate(fd, s->size);
	if (r == 0)
		r = dress(fd, s);
	return r < 0 ? r : spw_stub_note(fd, s, SPW_STUB_KEPT);
}

int
spw_stub_note(int fd, struct spw_stub *s, enum spw_stub_state state)
{
	s->state = state;
	return write_attr(fd, s);
}

int
spw_stub_end(int fd, const struct spw_stub *s)
{
	int r = set_mode(fd, s->mode);

	if (r == 0)
		r = set_time(fd, s->mtime);
	SPW_FAILPOINT("stub-plain");
	if (r == 0)
		r = spw_attr_remove(fd, SPW_STUB_ATTR);
	return r < 0 && r != -ENODATA ? r : sync_file(fd);
}

/* The block that has the notice may be larger, and reads as zeros. */
static bool
has_more(int fd, uint64_t size)
{
	char got[NOTICE];

	for (uint64_t at = NOTICE; at < size && at < GRAIN; at += NOTICE) {
		int64_t n = spw_sys_pread(fd, got, NOTICE, at);

		if (n < 0 || memcmp(got, nothing, (size_t)n))
			return true;
	}
	return size > GRAIN &&
	       spw_sys_lseek(fd, GRAIN, SEEK_DATA) != -ENXIO;
}

/* Nothing but the notice, or not even that, and holes. */
bool
spw_stub_is_changed(int fd, const struct spw_stub *s)
{
	char want[NOTICE] = "", got[NOTICE] = "";
	uint64_t len = make_notice(s, want);
	struct stat st;
	int64_t n;

	if (s->state != SPW_STUB_KEPT)
		return false;
	memset(want + len, 0, NOTICE - len);
	n = spw_sys_pread(fd, got, NOTICE, 0);
	return spw_sys_fstat(fd, &st) < 0 || (uint64_t)st.st_size != s->size ||
	       n < 0 || (memcmp(got, want, NOTICE) &&
			 memcmp(got, nothing, NOTICE)) ||
	       has_more(fd, s->size);
}
