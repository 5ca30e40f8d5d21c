/* SPDX-License-Identifier: BSD-3-Clause */
/* ask.h -- a question before something is changed */
#ifndef SPW_TOOLS_ASK_H
#define SPW_TOOLS_ASK_H

#include <stdbool.h>

/* True: go on. yes: it was answered on the command line. Where there is no
 * terminal it is false, and `how` is named as the way to do it. */
bool spw_ask(const char *question, bool yes, bool quiet, const char *how);

#endif
