/* SPDX-License-Identifier: BSD-3-Clause */
/* receipt.c -- what a run did: the counters, as JSON and as two lines */
#include "tools/receipt.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/files.h"
#include "shm/lane.h"
#include "shm/version.h"
#include "tools/json.h"
#include "tools/lost.h"
#include "tools/show.h"

void
spw_receipt_fill(struct spw_map *map, struct spw_receipt *r)
{
	struct spw_seg *seg = map->seg;

	spw_lane_counters(map, &r->count);
	spw_drainer_left(map, &r->left);
	r->map = map;
	r->requests_home = atomic_load(&seg->requests_home);
	r->bytes_home = atomic_load(&seg->bytes_home);
	r->requests_down = atomic_load(&seg->requests_down);
	r->bytes_down = atomic_load(&seg->bytes_down);
	r->stored_down = atomic_load(&seg->stored_down);
	r->requests_up = atomic_load(&seg->requests_up);
	r->bytes_up = atomic_load(&seg->bytes_up);
	r->syncs_down = atomic_load(&seg->syncs_down);
	r->files_managed = atomic_load(&seg->files_managed);
	for (unsigned i = 0; i < SPW_BYPASS_COUNT; i++)
		r->bypasses[i] = atomic_load(&seg->bypasses[i]);
}

static void
put(const struct spw_receipt *r, FILE *out)
{
	struct spw_json j;

	spw_json_begin(&j, out);
	spw_json_open(&j, NULL, '{');
	spw_json_string(&j, "version", spw_version());
	spw_json_string(&j, "job", r->job);
	spw_json_number(&j, "exit_status", (uint64_t)r->exit_status);
	spw_json_real(&j, "seconds", r->seconds);
	spw_json_string(&j, "drainer", r->drainer);
	spw_json_number(&j, "files_managed", r->files_managed);
	spw_json_number(&j, "writes_absorbed", r->count.writes);
	spw_json_number(&j, "bytes_absorbed", r->count.bytes_written);
	spw_json_number(&j, "reads_served", r->count.reads);
	spw_json_number(&j, "bytes_served", r->count.bytes_read);
	spw_json_number(&j, "waits_for_room", r->count.waits);
	spw_json_number(&j, "written_through", r->count.through);
	spw_json_number(&j, "requests_home", r->requests_home);
	spw_json_number(&j, "bytes_home", r->bytes_home);
	spw_json_number(&j, "requests_down", r->requests_down);
	spw_json_number(&j, "bytes_down", r->bytes_down);
	spw_json_number(&j, "stored_down", r->stored_down);
	spw_json_number(&j, "requests_up", r->requests_up);
	spw_json_number(&j, "bytes_up", r->bytes_up);
	spw_json_number(&j, "syncs_down", r->syncs_down);
	spw_json_number(&j, "bytes_undrained", r->left.bytes);
	spw_json_number(&j, "files_undrained", r->left.files);
	spw_json_number(&j, "files_kept", r->keeping.files);
	spw_json_number(&j, "bytes_kept", r->keeping.bytes);
	spw_json_bool(&j, "undrained_durable", r->left.bytes && r->safe);
	if (r->left.err)
		spw_json_string(&j, "error", strerror(r->left.err));
	if (r->left.bytes)
		spw_lost_put(&j, r->map);
	spw_json_open(&j, "bypass", '{');
	for (unsigned i = SPW_BYPASS_NONE + 1; i < SPW_BYPASS_COUNT; i++)
		if (r->bypasses[i])
			spw_json_number(&j, spw_bypass_name(i),
					r->bypasses[i]);
	spw_json_close(&j, '}');
	spw_json_close(&j, '}');
	spw_json_end(&j);
}

static int
write_tmp(const struct spw_receipt *r, int fd)
{
	mode_t mask = umask(0);
	FILE *out = fdopen(fd, "w");
	int err = 0;

	umask(mask);
	if (!out) {
		close(fd);
		return -ENOMEM;
	}
	put(r, out);
	if (fflush(out) || fchmod(fd, 0644 & ~mask) < 0)
		err = -errno;
	if (fclose(out) && !err)
		err = -errno;
	return err;
}

static int
write_in_place(const struct spw_receipt *r, const char *path)
{
	FILE *out = fopen(path, "we");

	if (!out)
		return -errno;
	put(r, out);
	return fclose(out) ? -errno : 0;
}

static int
replace(const struct spw_receipt *r, const char *path)
{
	char tmp[PATH_MAX];
	int fd, err, n = snprintf(tmp, sizeof(tmp), "%s.XXXXXX", path);

	if (n < 0 || (size_t)n >= sizeof(tmp))
		return -ENAMETOOLONG;
	fd = mkostemp(tmp, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = write_tmp(r, fd);
	if (!err && rename(tmp, path) < 0)
		err = -errno;
	if (err)
		(void)unlink(tmp);
	return err;
}

int
spw_receipt_write(const struct spw_receipt *r, const char *path)
{
	struct stat st;

	/* A pipe or a device stays what it is. */
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return write_in_place(r, path);
	return replace(r, path);
}

void
spw_receipt_print(const struct spw_receipt *r)
{
	char a[SPW_SHOW_MAX], b[SPW_SHOW_MAX], c[SPW_SHOW_MAX];
	char d[SPW_SHOW_MAX], e[SPW_SHOW_MAX];

	fprintf(stderr, "spillway: absorbed %s in %s, served %s in %s; %s, "
		"%.1f s\n",
		spw_show_size(r->count.bytes_written, a),
		spw_show_count(r->count.writes, "write", b),
		spw_show_size(r->count.bytes_read, c),
		spw_show_count(r->count.reads, "read", d),
		spw_show_count(r->files_managed, "file", e), r->seconds);
	if (r->requests_down)
		fprintf(stderr, "spillway: %s went down to tiers in %s "
			"(%s stored), %s came back up\n",
			spw_show_size(r->bytes_down, a),
			spw_show_count(r->requests_down, "object", b),
			spw_show_size(r->stored_down, c),
			spw_show_size(r->bytes_up, d));
	if (r->left.bytes)
		return;
	fprintf(stderr, "spillway: all data home in %s of %s, "
		"0 B undrained\n",
		spw_show_count(r->requests_home, "request", a),
		spw_show_size(r->bytes_home, b));
}
