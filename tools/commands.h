/* SPDX-License-Identifier: BSD-3-Clause */
/* commands.h -- the commands of spillway, one line each */

#ifndef SPW_TOOLS_COMMANDS_H
#define SPW_TOOLS_COMMANDS_H

/*
 * argv[0] is the command's own name; what is returned is the exit status.
 */
int spw_cmd_run(int argc, char **argv, char **envp);
int spw_cmd_agent(int argc, char **argv, char **envp);
int spw_cmd_status(int argc, char **argv, char **envp);
int spw_cmd_place(int argc, char **argv, char **envp);
int spw_cmd_stage(int argc, char **argv, char **envp);
int spw_cmd_drain(int argc, char **argv, char **envp);
int spw_cmd_recover(int argc, char **argv, char **envp);
int spw_cmd_fsck(int argc, char **argv, char **envp);
int spw_cmd_profile(int argc, char **argv, char **envp);
int spw_cmd_clean(int argc, char **argv, char **envp);
int spw_cmd_config(int argc, char **argv, char **envp);
int spw_cmd_version(int argc, char **argv, char **envp);

/* Exit statuses of all but run, which has the program's. */
enum {
	SPW_EXIT_OK, SPW_EXIT_FINDINGS, SPW_EXIT_USAGE, SPW_EXIT_NO_JOB,
	SPW_EXIT_UNREACHABLE, SPW_EXIT_PARTLY
};

#endif
