/* SPDX-License-Identifier: BSD-3-Clause */
/* slowfs-tree.h -- what is there when a recording begins */

#ifndef SPW_TESTS_SLOWFS_TREE_H
#define SPW_TESTS_SLOWFS_TREE_H

/* Tell the recording of all that is in a directory, as if it was made and
 * synced now; what cannot be read ends the program. */
void tree_record(int dir);

#endif
