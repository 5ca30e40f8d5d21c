/* SPDX-License-Identifier: BSD-3-Clause */
/* spillway.c -- the command: help, and the way to the others */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shm/diag.h"
#include "shm/suggest.h"
#include "tools/childenv.h"
#include "tools/commands.h"
#include "tools/outlive.h"
#include "tools/stagein.h"

static const struct {
	const char *name, *help;
	int (*call)(int argc, char **argv, char **envp);
	bool waits;			/* for tiers and homes, maybe long */
} commands[] = {
	{ "run", "run a program under Spillway", spw_cmd_run, false },
	{ "status", "show jobs, memory and what is not home yet",
	  spw_cmd_status, false },
	{ "place", "show where each part of a file is, and why",
	  spw_cmd_place, false },
	{ "drain", "bring home now what is dirty now", spw_cmd_drain, true },
	{ "stage", "bring files up before a job, or home after it",
	  spw_cmd_stage, true },
	{ "recover", "bring home what dead jobs left behind",
	  spw_cmd_recover, true },
	{ "fsck", "check every byte that segments and tiers hold",
	  spw_cmd_fsck, true },
	{ "clean", "remove what nobody needs any more", spw_cmd_clean, true },
	{ "profile", "measure codecs and tiers for the planner",
	  spw_cmd_profile, false },
	{ "config", "show every setting and where it came from",
	  spw_cmd_config, false },
	{ "agent", "drain a segment in the background", spw_cmd_agent, false },
	{ "version", "show the release and its features",
	  spw_cmd_version, false },
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

static int
call(const char *name, int argc, char **argv, char **envp)
{
	for (unsigned i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i].name, name))
			return commands[i].waits
			       ? spw_outlive(commands[i].call, argc, argv, envp)
			       : commands[i].call(argc, argv, envp);
	return -1;
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

int
main(int argc, char **argv, char **envp)
{
	int status;

	shed_library(argv);
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

		status = call(argv[2], 2, ask, envp);
		return status < 0 ? blame(argv[2]) : status;
	}
	status = call(argv[1], argc - 1, argv + 1, envp);
	return status < 0 ? blame(argv[1]) : status;
}
