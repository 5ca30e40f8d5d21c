/* SPDX-License-Identifier: BSD-3-Clause */
/* commands.h -- the commands of spillway, one line each */

#ifndef SPW_TOOLS_COMMANDS_H
#define SPW_TOOLS_COMMANDS_H

/*
 * argv[0] is the command's own name; what is returned is the exit status.
 */
int spw_cmd_config(int argc, char **argv, char **envp);

#endif
