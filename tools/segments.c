/* SPDX-License-Identifier: BSD-3-Clause */
/* segments.c -- the segments of this user: which there are, who lives there */
#include "tools/segments.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "shm/claims.h"
#include "shm/proc.h"
#include "shm/sys.h"
#include "shm/util.h"

static const char suffix[] = ".seg";

bool
spw_segment_has_drainer(const char *path)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET,
		.l_start = SPW_LOCK_BYTE_DRAINER, .l_len = 1,
	};
	int fd = spw_sys_open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
	int r;

	if (fd < 0)
		return false;
	r = spw_sys_fcntl(fd, F_OFD_GETLK, (long)&lock);
	spw_sys_close(fd);
	return r == 0 && lock.l_type != F_UNLCK;
}

void
spw_segment_count(const struct spw_map *map, struct spw_segment_folk *ret)
{
	uint32_t ready = spw_seg_ready(map, SPW_POOL_PROCS);
	struct spw_segment_folk folk = { 0, 0 };

	for (uint32_t i = 0; i < ready; i++) {
		if (!spw_proc_is_alive(map, i))
			continue;
		if (atomic_load(&map->procs[i].stands_by))
			folk.runs++;
		else
			folk.programs++;
	}
	*ret = folk;
}

bool
spw_segment_is_deserted(const struct spw_map *map)
{
	struct spw_segment_folk folk;

	spw_segment_count(map, &folk);
	return !folk.programs && !folk.runs;
}

/* Nothing was ever put into it, so joining it is safe whoever made it. */
static bool
is_untouched(const struct spw_map *map)
{
	return !atomic_load(&map->seg->drainer_epoch) &&
	       !atomic_load(&map->seg->files_managed);
}

static void
judge(struct spw_segment *s)
{
	s->has_drainer = spw_segment_has_drainer(s->path);
	spw_segment_count(&s->map, &s->folk);
	spw_drainer_left(&s->map, &s->left);
	if (s->folk.programs || s->folk.runs)
		s->state = SPW_SEGMENT_LIVE;
	else if (s->has_drainer)
		s->state = SPW_SEGMENT_IDLE;
	else
		s->state = is_untouched(&s->map) ? SPW_SEGMENT_NEW
						 : SPW_SEGMENT_DEAD;
}

/* The file's name is the job's. */
static void
name_job(struct spw_segment *s)
{
	const char *slash = strrchr(s->path, '/');
	const char *name = slash ? slash + 1 : s->path;
	size_t n = strlen(name);

	if (n > sizeof(suffix) - 1 &&
	    !strcmp(name + n - (sizeof(suffix) - 1), suffix))
		n -= sizeof(suffix) - 1;
	snprintf(s->job, sizeof(s->job), "%.*s", (int)n, name);
}

int
spw_segment_look(const char *path, struct spw_segment *ret)
{
	struct spw_segment s = { 0 };
	int n = snprintf(s.path, sizeof(s.path), "%s", path);

	if (n < 0 || (size_t)n >= sizeof(s.path))
		return -ENAMETOOLONG;
	name_job(&s);
	s.err = spw_seg_attach(path, &s.map);
	if (s.err == -ENOENT)
		return s.err;
	if (s.err < 0)
		s.state = SPW_SEGMENT_UNREADABLE;
	else
		judge(&s);
	*ret = s;
	return 0;
}

void
spw_segment_drop(struct spw_segment *s)
{
	spw_seg_detach(&s->map);
}

static int
is_segment(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return e->d_name[0] != '.' && n > sizeof(suffix) - 1 &&
	       !strcmp(e->d_name + n - (sizeof(suffix) - 1), suffix);
}

static int
compare(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Others' directories say nothing true about us. */
static int
check_dir(const char *dir)
{
	struct stat st;
	int r = spw_sys_fstatat(AT_FDCWD, dir, &st, AT_SYMLINK_NOFOLLOW);

	if (r < 0)
		return r;
	return S_ISDIR(st.st_mode) && st.st_uid == spw_sys_geteuid() &&
	       !(st.st_mode & 077) ? 0 : -EPERM;
}

static int
look_at_all(const char *dir, struct dirent **names, int n,
	    struct spw_segment *list, size_t *ret_n)
{
	char path[SPW_SEG_PATH_MAX];

	for (int i = 0; i < n; i++) {
		int len = snprintf(path, sizeof(path), "%s%s", dir,
				   names[i]->d_name);

		if (len > 0 && (size_t)len < sizeof(path) &&
		    spw_segment_look(path, &list[*ret_n]) == 0)
			++*ret_n;
	}
	return 0;
}

int
spw_segments_list(const char *shm_dir, struct spw_segment **ret_list,
		  size_t *ret_n)
{
	char dir[SPW_SEG_PATH_MAX];
	struct spw_segment *list = NULL;
	struct dirent **names;
	int n, r = spw_seg_path(shm_dir, NULL, dir, sizeof(dir));

	*ret_list = NULL;
	*ret_n = 0;
	if (r == 0)
		r = check_dir(dir);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	n = scandir(dir, &names, is_segment, compare);
	if (n < 0)
		return -errno;
	list = calloc((size_t)n + 1, sizeof(*list));
	r = list ? look_at_all(dir, names, n, list, ret_n) : -ENOMEM;
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
	*ret_list = list;
	return r;
}

void
spw_segments_free(struct spw_segment *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		spw_segment_drop(&list[i]);
	free(list);
}

const char *
spw_segment_trouble(int err)
{
	switch (err) {
	case -EPERM:
		return "not a private file of yours";
	case -ESTALE:
		return "from before the last boot";
	case -EPROTO:
		return "made by another version of Spillway";
	case -EBADMSG:
		return "damaged";
	default:
		return strerror(-err);
	}
}

const char *
spw_segment_state_name(enum spw_segment_state state)
{
	static const char *const names[] = {
		[SPW_SEGMENT_LIVE] = "live", [SPW_SEGMENT_IDLE] = "idle",
		[SPW_SEGMENT_NEW] = "new", [SPW_SEGMENT_DEAD] = "dead",
		[SPW_SEGMENT_UNREADABLE] = "unreadable",
	};

	return names[state];
}

const char *
spw_segment_host_name(uint32_t host)
{
	static const char *const names[] = {
		[SPW_HOST_NONE] = "none", [SPW_HOST_RUN] = "run",
		[SPW_HOST_AGENT] = "agent", [SPW_HOST_THREAD] = "thread",
		[SPW_HOST_DRAIN] = "drain", [SPW_HOST_RECOVER] = "recover",
	};

	return host < sizeof(names) / sizeof(*names) ? names[host]
						     : "unknown";
}

/* Nothing in it is needed any more: home, or kept. */
static bool
is_finished(struct spw_map *map, struct spw_drainer *d)
{
	struct spw_drain_left left;

	spw_drainer_left(map, &left);
	if (d && left.bytes && left.bytes == left.keeps) {
		if (!spw_drainer_keep(d))
			return false;
		spw_drainer_left(map, &left);
	}
	return !left.files && !left.bytes;
}

bool
spw_segment_remove(struct spw_map *map, struct spw_drainer *d)
{
	int fd = spw_proc_shut_out(map);
	bool gone = false;

	if (fd < 0)
		return fd == -ESTALE;
	if (spw_segment_is_deserted(map) && is_finished(map, d))
		gone = spw_sys_unlink(map->path) == 0;
	if (gone)
		spw_claims_part(map);
	else if (d)
		spw_drainer_unkeep(d);
	spw_proc_let_in(map, fd);
	return gone;
}
