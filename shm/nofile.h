/* SPDX-License-Identifier: BSD-3-Clause */
/* nofile.h -- work that needs a descriptor, where the process can have none */
#ifndef SPW_SHM_NOFILE_H
#define SPW_SHM_NOFILE_H

/*
 * Returns what work(arg) returns. If that is -EMFILE it is done once more with
 * a table of descriptors of its own: the program may hold all that it can have,
 * and a file that is not known for that reason would be read past what others
 * wrote. The work shares our memory then and leaves nothing open.
 */
int spw_nofile_do(int (*work)(void *arg), void *arg);

#endif
