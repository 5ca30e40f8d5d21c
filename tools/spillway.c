/* SPDX-License-Identifier: BSD-3-Clause */
/* spillway.c -- the command: help, and the way to the others */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/diag.h"
#include "shm/suggest.h"
#include "tools/childenv.h"
#include "tools/commands.h"
#include "tools/json.h"
#include "tools/outlive.h"
#include "tools/stagein.h"

static const struct way {
	const char *name, *help;
	int (*call)(int argc, char **argv, char **envp);
	bool waits;			/* for tiers and homes, maybe long */
	bool has_json;
} commands[] = {
	{ "run", "run a program under Spillway", spw_cmd_run, false, false },
	{ "status", "show jobs, memory and what is not home yet",
	  spw_cmd_status, false, true },
	{ "place", "show where each part of a file is, and why",
	  spw_cmd_place, true, true },
	{ "drain", "bring home now what is dirty now", spw_cmd_drain, true,
	  true },
	{ "stage", "bring files up before a job, or home after it",
	  spw_cmd_stage, true, true },
	{ "recover", "bring home what dead jobs left behind",
	  spw_cmd_recover, true, true },
	{ "fsck", "check every byte that segments and tiers hold",
	  spw_cmd_fsck, true, true },
	{ "clean", "remove what nobody needs any more", spw_cmd_clean, true,
	  true },
	{ "profile", "measure codecs and tiers for the planner",
	  spw_cmd_profile, false, true },
	{ "config", "show every setting and where it came from",
	  spw_cmd_config, false, true },
	{ "agent", "drain a segment in the background", spw_cmd_agent, false,
	  false },
	{ "version", "show the release and its features",
	  spw_cmd_version, false, false },
};

enum { COMMANDS = sizeof(commands) / sizeof(*commands) };

static int
help(FILE *out)
{
	fputs("usage: spillway COMMAND [OPTION]... [ARGUMENT]...\n"
	      "       spillway --help | --version\n"
	      "\n"
	      "Speed up the file I/O of unmodified programs.\n"
	      "\n", out);
	for (unsigned i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-10s  %s\n", commands[i].name,
			commands[i].help);
	fputs("  help        show this text, or that of a COMMAND\n"
	      "\n"
	      "First steps:\n"
	      "    spillway run -- python3 train.py\n"
	      "    mpirun -n 8 spillway run -- ./solver\n"
	      "    spillway status\n"
	      "\n"
	      "spillway COMMAND --help shows the options of a command.\n",
	      out);
	return fflush(out) ? SPW_EXIT_FINDINGS : SPW_EXIT_OK;
}

static const struct way *
find(const char *name)
{
	for (unsigned i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static bool
wants_json(char *const *argv)
{
	while (*argv && strcmp(*argv, "--"))
		if (!strcmp(*argv++, "--json"))
			return true;
	return false;
}

/* Who reads JSON gets some, also where there is nothing to tell. */
static void
put_failure(int status)
{
	static const char *const why[] = {
		[SPW_EXIT_FINDINGS] = "it failed",
		[SPW_EXIT_USAGE] = "arguments or settings not understood",
		[SPW_EXIT_NO_JOB] = "no such job or file",
		[SPW_EXIT_UNREACHABLE] = "a place cannot be reached",
		[SPW_EXIT_PARTLY] = "it was not done, or not all of it",
	};
	struct spw_json j;

	spw_json_begin(&j, stdout);
	spw_json_open(&j, NULL, '{');
	spw_json_string(&j, "error", why[status <= SPW_EXIT_PARTLY ? status
					 : SPW_EXIT_FINDINGS]);
	spw_json_integer(&j, "status", status);
	spw_json_close(&j, '}');
	spw_json_end(&j);
	(void)fflush(stdout);		/* it has failed already */
}

/* argv[0] is the name of one. */
static int
obey(int argc, char **argv, char **envp)
{
	const struct way *way = find(argv[0]);
	bool json = way->has_json && wants_json(argv);
	int status = way->call(argc, argv, envp);

	if (json && status > 0 && !spw_json_was_begun())
		put_failure(status);
	return status;
}

static int
call(int argc, char **argv, char **envp)
{
	const struct way *way = find(argv[0]);

	if (!way)
		return -1;
	return way->waits ? spw_outlive(obey, argc, argv, envp)
			  : obey(argc, argv, envp);
}

static int
blame(const char *word)
{
	const char *names[COMMANDS + 1], *near;
	struct spw_diag d;

	for (unsigned i = 0; i < COMMANDS; i++)
		names[i] = commands[i].name;
	names[COMMANDS] = "help";
	near = spw_suggest(word, strlen(word), names, COMMANDS + 1);
	spw_diag_begin(&d, SPW_ERROR, SPW_NO_CODE);
	spw_diag_subject(&d, "%q", word);
	spw_diag_cause(&d, "is no command");
	if (near)
		spw_diag_cause(&d, "; did you mean %s?", near);
	spw_diag_hint(&d, "spillway --help lists them");
	spw_diag_print(&d, false, STDERR_FILENO);
	return SPW_EXIT_USAGE;
}

/* Started from a program under Spillway we have the library too; what drains
 * must not be drained. `stage in' wants it. */
static void
shed_library(char **argv)
{
	char *preload = getenv("LD_PRELOAD");

	if (getenv(SPW_STAGING) || !preload || !spw_childenv_strip(preload))
		return;
	if (!*preload)
		unsetenv("LD_PRELOAD");
	execv("/proc/self/exe", argv);
	perror("spillway: /proc/self/exe");
	exit(125);
}

/* What we say must not get into a file that happens to be opened under the
 * number of a missing standard error. There is no writing to these either, and
 * the program that is run has none. The loader has made these calls before, so
 * no filter kills us for them. */
static void
fill_standard_numbers(void)
{
	int fd;

	do
		fd = open("/", O_PATH | O_CLOEXEC);
	while (fd >= STDIN_FILENO && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int
main(int argc, char **argv, char **envp)
{
	int status;

	shed_library(argv);
	fill_standard_numbers();
	if (argc < 2) {
		help(stderr);
		return SPW_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    (!strcmp(argv[1], "help") && argc == 2))
		return help(stdout);
	if (!strcmp(argv[1], "--version"))
		argv[1] = "version";
	if (!strcmp(argv[1], "help")) {
		char *ask[] = { argv[2], "--help", NULL };

		status = call(2, ask, envp);
		return status < 0 ? blame(argv[2]) : status;
	}
	status = call(argc - 1, argv + 1, envp);
	return status < 0 ? blame(argv[1]) : status;
}
