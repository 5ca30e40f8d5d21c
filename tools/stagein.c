/* SPDX-License-Identifier: BSD-3-Clause */
/* stagein.c -- files brought into the memory of a job before it needs them */

/*
 * The command starts itself again as a program of the job, with the library
 * preloaded: then opening a file makes it known to the segment, waits for a
 * stub to be home, and minds other jobs, as for every other program; and
 * spillway_stage brings it up. An agent has the segment afterwards.
 */
#include "tools/stagein.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/job.h"
#include "shm/spillway.h"
#include "shm/sys.h"
#include "shm/util.h"
#include "tools/answers.h"
#include "tools/childenv.h"
#include "tools/commands.h"
#include "tools/json.h"
#include "tools/library.h"
#include "tools/parts.h"
#include "tools/segments.h"
#include "tools/show.h"
#include "tools/walk.h"

enum {
	HOLD_S = 3600, HOLD_MAX_S = 366 * 24 * 3600,
	SLICE = 4 << 20,		/* between looks at the progress */
};

struct file {
	char *path;
	uint64_t size, up;		/* bytes; of these in memory */
	char why[64];			/* that it is not, or "" */
};

struct staging {
	const struct spw_stagein *req;
	const char *job;
	struct file *list;
	size_t n, missing;
	uint64_t size, up;
	struct spw_progress line;
};

static void
say(const struct spw_stagein *req, enum spw_severity severity,
    const char *subject, const char *cause, const char *hint)
{
	struct spw_diag d;

	spw_diag_begin(&d, severity, severity == SPW_WARNING ? SPW_W119
							     : SPW_NO_CODE);
	spw_diag_subject(&d, "%e", subject);
	spw_diag_cause(&d, "%s", cause);
	if (hint)
		spw_diag_hint(&d, "%s", hint);
	spw_diag_print(&d, req->args->color, STDERR_FILENO);
}

static int
add(void *arg, const char *path)
{
	struct staging *s = arg;
	struct file *more = realloc(s->list, (s->n + 1) * sizeof(*more));
	struct stat st;

	if (!more)
		return -ENOMEM;
	s->list = more;
	more += s->n;
	*more = (struct file){ .path = realpath(path, NULL) };
	if (!more->path || stat(more->path, &st) < 0)
		return -errno;
	more->size = (uint64_t)st.st_size;
	s->size += more->size;
	s->n++;
	return 0;
}

static void
miss(void *arg, const char *path, int err)
{
	struct staging *s = arg;

	s->missing++;
	say(s->req, SPW_WARNING, path, spw_diag_errno(-err), NULL);
}

/* What is named is what is managed: a file by the directory it is in. */
static int
include(struct spw_config *cfg, char *const *paths)
{
	cfg->include = (struct spw_dirs){ 0 };
	for (; *paths; paths++) {
		char real[PATH_MAX];
		struct stat st;
		bool known = false;

		if (!realpath(*paths, real) || stat(real, &st) < 0)
			continue;	/* will be told */
		if (!S_ISDIR(st.st_mode))
			*strrchr(real, '/') = '\0';
		for (unsigned i = 0; i < cfg->include.n && !known; i++)
			known = spw_path_is_below(real, spw_dirs_get(
						  &cfg->include, i));
		if (!known && spw_dirs_add(&cfg->include, *real ? real : "/"))
			return -E2BIG;
	}
	return 0;
}

/* Returns if it cannot. */
static int
start_again(const struct spw_stagein *req, struct spw_config *cfg)
{
	char real[PATH_MAX], library[PATH_MAX], self[PATH_MAX];
	char dir[SPW_SEG_PATH_MAX];
	struct spw_tierlist *tiers = malloc(sizeof(*tiers));
	struct spw_diag d = { 0 };
	char **env;
	int r = include(cfg, req->paths);

	if (!tiers || r < 0) {
		say(req, SPW_ERROR, "stage", tiers
		    ? "files in too many directories at once"
		    : spw_diag_errno(ENOMEM), NULL);
		return SPW_EXIT_USAGE;
	}
	cfg->drainer = SPW_DRAINER_AGENT;	/* who stays when we are gone */
	cfg->origin[SPW_OPTION_DRAINER].from = SPW_FROM_FLAG;
	r = spw_config_tiers(cfg, req->envp, tiers, &d);
	if (r == 0)
		r = spw_answers_check(cfg, tiers, &d);
	if (d.severity != SPW_SILENT)
		spw_diag_print(&d, req->args->color, STDERR_FILENO);
	free(tiers);
	if (r < 0)
		return SPW_EXIT_USAGE;
	r = spw_library_find(real, sizeof(real));
	if (r == 0)
		r = spw_seg_own_dir(cfg->shm_dir);
	if (r == 0)
		r = spw_seg_path(cfg->shm_dir, NULL, dir, sizeof(dir));
	if (r == 0)
		r = spw_childenv_library(real, dir, library, sizeof(library));
	if (r == 0)
		r = spw_library_self(self, sizeof(self));
	if (r == 0 && setenv(SPW_STAGING, "1", 1) < 0)
		r = -errno;
	env = r < 0 ? NULL : spw_childenv_make(environ, cfg, library);
	if (env)
		execve(self, req->argv, env);
	say(req, SPW_ERROR, "libspillway.so",
	    spw_diag_errno(r < 0 ? -r : errno), NULL);
	return SPW_EXIT_UNREACHABLE;
}

static void
note(struct file *f, int err)
{
	snprintf(f->why, sizeof(f->why), "%s",
		 err == EBADF ? "is not managed: see --exclude"
		 : spw_diag_errno(err));
}

static void
note_bypass(struct file *f, int fd)
{
	struct spillway_info info = { .size = sizeof(info) };

	note(f, EBUSY);
	if (spillway_query && spillway_query(fd, &info) == 0 && info.bypass[0])
		snprintf(f->why, sizeof(f->why), "is served by the kernel: %s",
			 info.bypass);
}

static void
bring_up(struct staging *s, struct file *f)
{
	unsigned hold = s->req->hold_ms < 0 ? HOLD_S
			: (unsigned)SPW_MIN(s->req->hold_ms / 1000,
					    HOLD_MAX_S);
	int fd = open(f->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		note(f, errno);
		return;
	}
	while (f->up < f->size) {
		size_t n = SPW_MIN(f->size - f->up, SLICE);
		ssize_t got = spillway_stage(fd, (off_t)f->up, n, hold);

		if (got < 0 && errno == EBUSY)
			note_bypass(f, fd);
		else if (got < 0)
			note(f, errno);
		if (got <= 0)
			break;
		f->up += (uint64_t)got;
		s->up += (uint64_t)got;
		spw_progress_show(&s->line, s->size - s->up);
		if ((size_t)got < n)
			break;
	}
	if (f->up < f->size && !f->why[0])
		snprintf(f->why, sizeof(f->why), "memory has no more room");
	close(fd);
}

static void
bring_all(struct staging *s)
{
	spw_progress_begin(&s->line, "stage in", s->req->args->cfg.quiet);
	spw_progress_show(&s->line, s->size);
	for (size_t i = 0; i < s->n; i++)
		bring_up(s, &s->list[i]);
	spw_progress_end(&s->line);
}

static uint64_t
count_up(const struct spw_parts *p)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < p->n; i++)
		if (p->part[i].cached || p->part[i].where == SPW_PART_MEMORY)
			bytes += p->part[i].to - p->part[i].from;
	return bytes;
}

/* As things are, without doing anything. */
static void
look_all(struct staging *s, const struct spw_config *cfg)
{
	char path[SPW_SEG_PATH_MAX];
	struct spw_segment seg;

	if (spw_seg_path(cfg->shm_dir, cfg->job, path, sizeof(path)) < 0 ||
	    spw_segment_look(path, &seg) < 0)
		return;
	for (size_t i = 0; i < s->n && seg.state != SPW_SEGMENT_UNREADABLE;
	     i++) {
		struct file *f = &s->list[i];
		struct spw_parts parts;
		struct stat st;
		struct spw_file_id id;

		if (stat(f->path, &st) < 0)
			continue;
		id = (struct spw_file_id){ st.st_dev, st.st_ino };
		if (spw_parts_find(&seg.map, &id, &parts) < 0)
			continue;
		f->up = count_up(&parts);
		s->up += f->up;
		spw_parts_free(&parts);
	}
	spw_segment_drop(&seg);
}

static void
put_json(const struct staging *s)
{
	struct spw_json j;

	spw_json_begin(&j, stdout);
	spw_json_open(&j, NULL, '{');
	spw_json_string(&j, "job", s->job);
	spw_json_open(&j, "files", '[');
	for (size_t i = 0; i < s->n; i++) {
		const struct file *f = &s->list[i];

		spw_json_open(&j, NULL, '{');
		spw_json_string(&j, "path", f->path);
		spw_json_number(&j, "bytes", f->size);
		spw_json_number(&j, "in_memory", f->up);
		if (f->why[0])
			spw_json_string(&j, "error", f->why);
		spw_json_close(&j, '}');
	}
	spw_json_close(&j, ']');
	spw_json_number(&j, "bytes", s->size);
	spw_json_number(&j, "in_memory", s->up);
	spw_json_close(&j, '}');
	spw_json_end(&j);
}

static void
put_lines(const struct staging *s)
{
	char size[SPW_SHOW_MAX], up[SPW_SHOW_MAX], files[SPW_SHOW_MAX];

	for (size_t i = 0; s->req->dry && i < s->n; i++) {
		printf("%9s of %9s  ", spw_show_size(s->list[i].up, up),
		       spw_show_size(s->list[i].size, size));
		spw_show_name(stdout, s->list[i].path);
		putchar('\n');
	}
	printf("%s of %s in memory, of %s\n", spw_show_size(s->up, up),
	       spw_show_size(s->size, size),
	       spw_show_count(s->n, "file", files));
}

static int
conclude(const struct staging *s)
{
	int status = s->missing ? SPW_EXIT_NO_JOB : SPW_EXIT_OK;

	for (size_t i = 0; i < s->n; i++)
		if (s->list[i].why[0]) {
			say(s->req, SPW_WARNING, s->list[i].path,
			    s->list[i].why, NULL);
			status = SPW_EXIT_PARTLY;
		}
	if (s->req->json)
		put_json(s);
	else if (!s->req->args->cfg.quiet)
		put_lines(s);
	return fflush(stdout) && !status ? SPW_EXIT_FINDINGS : status;
}

int
spw_stage_in(const struct spw_stagein *req)
{
	static struct spw_config cfg;
	struct staging s = { .req = req, .job = cfg.job };
	const struct spw_walker w = { add, miss, &s };
	bool again = getenv(SPW_STAGING) != NULL;
	int r;

	cfg = req->args->cfg;
	if (!spw_job_name(&req->args->cfg, req->envp, cfg.job,
			  sizeof(cfg.job))) {
		say(req, SPW_ERROR, "stage in", "for which job?",
		    "spillway stage in --job NAME FILE..., then spillway run "
		    "--job NAME");
		return SPW_EXIT_USAGE;
	}
	unsetenv(SPW_STAGING);
	if (!req->dry && !again)
		return start_again(req, &cfg);
	if (!req->dry && !spillway_stage) {
		say(req, SPW_ERROR, "libspillway.so", "was not loaded", NULL);
		return SPW_EXIT_UNREACHABLE;
	}
	r = spw_walk(req->paths, &w);
	if (r < 0)
		miss(&s, "stage in", r);
	if (req->dry)
		look_all(&s, &cfg);
	else
		bring_all(&s);
	r = conclude(&s);
	for (size_t i = 0; i < s.n; i++)
		free(s.list[i].path);
	free(s.list);
	return r;
}
