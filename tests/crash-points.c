/* SPDX-License-Identifier: BSD-3-Clause */
/* crash-points.c -- death at each named point: of writer, drainer, adopter */

/*
 * crash-points [-b BELOW] DIR MOST NAME...: every name with n = 1 to MOST in
 * three roles. A writer dies at its nth passing of the point, or the drainer
 * does; or a writer dies first (at each name that one died at) and then the
 * drainer that takes over from it dies at this name. Others go on meanwhile.
 * Afterwards a new drainer brings everything home and the ledger is compared.
 * A point that is not passed n times in a scene is skipped, and so are higher
 * n.
 *
 * With -b blocks go down to a tier in BELOW and come back all the time, a
 * drainer is killed while some are there, and its successor dies at the point;
 * and each name has to be passed by somebody.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/sys.h"
#include "shm/util.h"
#include "tests/crash-cast.h"

enum {
	EPOCH = 50, SCENE_OPS = 150, SCENE_MS = 200, ADOPT_MOST = 4,
	TRIES = 10, OFFICE_US = 30000,		/* of the drainer before the one that dies */
};

enum role { WRITER, DRAINER, ADOPTER, SUCCESSOR, ROLES };

static const char *const role_names[ROLES] = {
	"writer", "drainer", "adopter", "successor",
};

static const char *dir;
static unsigned long scenes, scenes_left, missed, deaths[ROLES];
static uint64_t office_us = OFFICE_US;

/* Waits until the process has died by itself. False: it will not, the scene
 * has lasted and the watched writer has done as much as it should. */
static bool
dies(pid_t *pid, int watched, uint64_t ops)
{
	int64_t since = spw_now_ms();
	int status;

	while (waitpid(*pid, &status, WNOHANG) != *pid) {
		if (atomic_load(&cast_ledger->bad))
			cast_die("a process found something wrong", scenes);
		if (spw_now_ms() - since > 10 * SCENE_MS ||
		    (spw_now_ms() - since > SCENE_MS &&
		     cast_ledger->writer[watched].ops >= ops))
			return false;
		spw_sys_sleep_us(100);
	}
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		cast_die("a process ended in another way", (unsigned)status);
	*pid = 0;
	cast_kills++;
	return true;
}

static void
set_scene(void)
{
	if (scenes_left-- == 0) {
		if (scenes)
			cast_end();
		cast_begin(dir);
		scenes_left = EPOCH - 1;
	}
	scenes++;
}

static void
close_scene(void)
{
	cast_hire(NULL);
	cast_rest();
	cast_bring_home();
	cast_check(scenes);
}

static uint64_t
enough(int no)
{
	return cast_ledger->writer[no].ops + SCENE_OPS;
}

static bool
play_writer(const char *point)
{
	bool died;

	cast_kill(&cast_writer[0]);
	cast_hire(NULL);
	cast_engage(1, NULL);
	cast_engage(0, point);
	cast_go();
	died = dies(&cast_writer[0], 0, enough(0));
	cast_kill(&cast_writer[0]);	/* or it dies while we wait for it */
	close_scene();
	return died;
}

static bool
play_drainer(const char *point)
{
	bool died;

	cast_kill(&cast_drainer);
	cast_hire(point);
	cast_engage(0, NULL);
	cast_engage(1, NULL);
	cast_go();
	died = dies(&cast_drainer, 0, enough(0));
	if (!died)
		cast_kill(&cast_drainer);
	close_scene();
	return died;
}

/* The writer dies with no drainer there; then the adopter does. Writer 1
 * waits where the dead one holds a lock, and adopts as well. */
static bool
play_adopter(const char *first, const char *point)
{
	bool died = false;

	cast_kill(&cast_drainer);
	cast_kill(&cast_writer[0]);
	cast_engage(1, NULL);
	cast_engage(0, first);
	cast_go();
	if (dies(&cast_writer[0], 0, enough(0))) {
		cast_hire(point);
		died = dies(&cast_drainer, 1, enough(1));
	}
	cast_kill(&cast_drainer);
	cast_kill(&cast_writer[0]);
	close_scene();
	return died;
}

/* Blocks are below and on their way when the office changes hands. */
static bool
play_successor(const char *point)
{
	bool died;

	cast_hire(NULL);
	cast_engage(0, NULL);
	cast_engage(1, NULL);
	cast_go();
	spw_sys_sleep_us((long)(crash_random(&cast_rng) % office_us));
	cast_kill(&cast_drainer);
	cast_hire(point);
	died = dies(&cast_drainer, 0, enough(0));
	if (!died)
		cast_kill(&cast_drainer);
	close_scene();
	return died;
}

/* How often somebody died. */
static unsigned
play(enum role role, const char *first, const char *name, unsigned most)
{
	char point[64], before[64];
	unsigned died_at = 0;

	snprintf(before, sizeof(before), "%s:1", first ? first : "");
	for (unsigned n = 1; n <= most; n++) {
		bool died;

		snprintf(point, sizeof(point), "%s:%u", name, n);
		set_scene();
		died = role == WRITER ? play_writer(point)
		       : role == DRAINER ? play_drainer(point)
		       : role == SUCCESSOR ? play_successor(point)
		       : play_adopter(before, point);
		if (!died)
			break;
		deaths[role]++;
		died_at = n;
	}
	return died_at;
}

static unsigned long
all_deaths(void)
{
	return deaths[WRITER] + deaths[DRAINER] + deaths[SUCCESSOR];
}

/* Whether a writer died there. */
static bool
play_each(const char *name, unsigned most)
{
	unsigned long before = all_deaths();
	bool fatal = play(WRITER, NULL, name, most);

	play(DRAINER, NULL, name, most);
	if (!cast_below)
		return fatal;
	play(SUCCESSOR, NULL, name, most);
	for (int i = 0; i < TRIES && all_deaths() == before; i++) {
		scenes_left = 0;	/* all is new */
		office_us += OFFICE_US;	/* on a busy machine it takes longer */
		play(SUCCESSOR, NULL, name, most);
		fatal |= play(WRITER, NULL, name, most) > 0;
	}
	if (all_deaths() == before) {
		printf("%s is not passed\n", name);
		missed++;
	}
	office_us = OFFICE_US;
	return fatal;
}

int
main(int argc, char **argv)
{
	const char *form = getenv("SPILLWAY_CHECK_LONG");
	bool all = form && strcmp(form, "1") == 0;
	bool *fatal;
	unsigned most;

	if (argc > 2 && strcmp(argv[1], "-b") == 0) {
		cast_below = argv[2];
		argc -= 2;
		argv += 2;
	}
	if (argc < 4)
		return 2;
	most = (unsigned)atoi(argv[2]);
	dir = argv[1];
	cast_rng = 1;
	cast_ledger = crash_ledger_new();
	for (int i = 0; i < CRASH_WRITERS; i++)
		cast_ledger->writer[i].rng = crash_random(&cast_rng);
	fatal = calloc((size_t)argc, sizeof(*fatal));
	if (!fatal)
		return 2;
	for (int i = 3; i < argc; i++)
		fatal[i] = play_each(argv[i], most);
	for (int i = 3; i < argc && (all || !cast_below); i++)
		for (int k = 3; k < argc && fatal[i]; k++)
			if (all || strncmp(argv[k], "adopt-", 6) == 0)
				play(ADOPTER, argv[i], argv[k],
				     all ? ADOPT_MOST : 1);
	cast_end();
	free(fatal);
	printf("%d names, %lu scenes;", argc - 3, scenes);
	for (int i = 0; i < ROLES; i++)
		printf(" %s died %lu times%s", role_names[i], deaths[i],
		       i == ROLES - 1 ? "\n" : ",");
	if (!cast_below)
		return 0;
	printf("%lu bytes down, %lu up\n", (unsigned long)cast_down,
	       (unsigned long)cast_up);
	return missed || !cast_down || !cast_up;
}
