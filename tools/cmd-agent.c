/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd-agent.c -- spillway agent: a drainer in the background, for a segment */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "planner/drain.h"
#include "shm/gate.h"
#include "shm/proc.h"
#include "shm/util.h"
#include "tools/args.h"
#include "tools/commands.h"
#include "tools/homing.h"
#include "tools/limits.h"
#include "tools/segments.h"

enum {
	GRACE_MS = 2000,		/* deserted and home for this long */
	SERVE_MS = 100,
	OFFICE_MS = 5000,		/* for a predecessor to leave */
};

static const char usage[] =
	"usage: spillway agent --segment FILE\n"
	"\n"
	"Bring home what programs write into a segment, until nobody holds it\n"
	"any more and all is home; then remove it. Preloaded programs start\n"
	"it by themselves.\n"
	"\n"
	"  spillway agent --segment /dev/shm/spillway.1000/default.seg\n"
	"  setsid spillway agent --segment \"$segment\" &\n"
	"  spillway status --json | jq -r '.jobs[].segment'\n"
	"\n"
	"  --segment FILE        the segment\n"
	"  --help                this text\n";

static volatile sig_atomic_t told_to_leave;
static struct spw_map *woken;

static void
leave(int sig)
{
	(void)sig;
	told_to_leave = 1;
	spw_gate_hurry(woken);
}

static void
take_signals(struct spw_map *map)
{
	struct sigaction sa = { .sa_handler = leave };
	static const int deaf[] = {
		SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGXFSZ,
	};

	woken = map;
	sigaction(SIGTERM, &sa, NULL);
	/* What a terminal sends to the program's group is not for us. */
	for (size_t i = 0; i < sizeof(deaf) / sizeof(*deaf); i++)
		signal(deaf[i], SIG_IGN);
}

static int
take_office(struct spw_map *map, struct spw_drainer **ret)
{
	int64_t until = spw_now_ms() + OFFICE_MS;
	int r = spw_drainer_start(map, SPW_HOST_AGENT, ret);

	spw_proc_has_come(map);		/* or somebody else is there */
	while (r == -EAGAIN && spw_now_ms() < until) {
		spw_sys_sleep_us(20000);
		r = spw_drainer_start(map, SPW_HOST_AGENT, ret);
	}
	return r;
}

/* Or will be kept. */
static bool
is_home(struct spw_map *map)
{
	struct spw_drain_left left;

	spw_drainer_left(map, &left);
	return left.bytes == left.keeps;
}

/* Somebody deleted the segment's file, so nobody can come after us. */
static bool
is_deleted(const struct spw_map *map)
{
	struct stat st;

	return stat(map->path, &st) < 0 || !spw_seg_is(map, &st);
}

/* What fails stays dirty and is tried again every second, for as long as it
 * takes: nobody else would do it. Unless even the names are gone: then one
 * long last try has to be enough. */
static void
serve(struct spw_map *map, struct spw_drainer *d)
{
	int64_t quiet_since = 0;

	while (!told_to_leave) {
		int64_t now = spw_now_ms();

		(void)spw_drainer_serve(d, SERVE_MS);
		if (!spw_drainer_is_deserted(d) || !is_home(map)) {
			quiet_since = 0;
			if (is_deleted(map) && spw_drainer_is_deserted(d) &&
			    spw_drainer_finish(d, -1) < 0)
				return;
			continue;
		}
		if (!quiet_since)
			quiet_since = now;
		/* Files were brought up for a program that is still to come. */
		if (now < atomic_load(&map->seg->staged_until))
			continue;
		if (now - quiet_since >= GRACE_MS &&
		    spw_drainer_finish(d, 0) == 0 &&
		    spw_segment_remove(map, d))
			return;
	}
	/* Told to go, perhaps to be killed soon: what can be made safe is,
	 * first. What does not move then is left to `recover`. */
	(void)spw_homing_save(map);
	(void)spw_drainer_serve(d, 1);
	if (spw_drainer_finish(d, -1) == 0)
		(void)spw_segment_remove(map, d);
}

static int
blame(const char *path, const char *why)
{
	struct spw_diag d;

	spw_diag_begin(&d, SPW_ERROR, SPW_E151);
	spw_diag_subject(&d, "segment %e", path);
	spw_diag_cause(&d, "%s", why);
	spw_diag_print(&d, false, STDERR_FILENO);
	return SPW_EXIT_UNREACHABLE;
}

int
spw_cmd_agent(int argc, char **argv, char **envp)
{
	const char *path = NULL;
	const struct spw_switch own[] = {
		{ "--segment", NULL, &path }, { NULL, NULL, NULL },
	};
	const struct spw_command command = {
		.name = "agent", .usage = usage, .own = own,
		.usage_status = SPW_EXIT_USAGE,
	};
	static struct spw_args args;
	struct spw_drainer *d;
	struct spw_map map;
	int r = spw_args_read(&command, argv, envp, &args);

	(void)argc;
	if (r >= 0)
		return r;
	if (!path || args.n_rest) {
		fputs(usage, stderr);
		return SPW_EXIT_USAGE;
	}
	r = spw_seg_attach(path, &map);
	if (r < 0)
		return blame(path, spw_segment_trouble(r));
	(void)spw_limits_raise();
	take_signals(&map);
	umask(077);
	r = take_office(&map, &d);
	if (r == -EAGAIN || r == -ENOENT || r == -ESTALE)
		return SPW_EXIT_OK;	/* another one serves, or it is gone */
	if (r < 0)
		return blame(path, spw_diag_errno(-r));
	serve(&map, d);
	spw_drainer_stop(d);
	return SPW_EXIT_OK;
}
