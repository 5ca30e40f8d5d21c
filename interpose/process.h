/* SPDX-License-Identifier: BSD-3-Clause */
/* process.h -- what the wrappers of fork, exec, spawn and signals share */
#ifndef SPW_INTERPOSE_PROCESS_H
#define SPW_INTERPOSE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* In a child that has its own memory, before it does anything else. The
 * fork wrappers see to it; calling it again does nothing. */
void spw_process_arrived(void);

void spw_spawn_forked(void);		/* a part of it */

/* syscall(SYS_clone or SYS_clone3, a[0], ...), as libc returns from it. */
long spw_process_clone(long nr, const long *a);

/* Before a thread gets a table of descriptors of its own. */
void spw_process_unshares_files(void);

/* Everything home, for everybody; and this process is the kernel's until it
 * ends. */
void spw_process_withdraws(void);

/* Before its effective user changes, if it does; (uid_t)-1 changes nothing. */
void spw_process_becomes(uid_t user);

/* syscall(SYS_seccomp, a[0], ...). */
long spw_process_seccomp(const long *a);

/* The limit of file sizes, as it is now. */
void spw_process_read_limit(void);

/* The next managed descriptor at or after fd, or -1. */
int spw_process_next_fd(int fd);

struct spw_image {			/* what is to be executed */
	int dir;			/* AT_FDCWD, or of execveat */
	const char *path;
	int flags;			/* of execveat */
	bool search;			/* along PATH, as execvp does */
};

/* Whether an image does as LD_PRELOAD says. */
enum spw_hearing {
	SPW_HEARS,
	SPW_DEAF,			/* static, set-id: it does not look */
	SPW_FOREIGN			/* another libc: it could not */
};
enum spw_hearing spw_image_hears(int dir, const char *path);

#define SPW_EXEC_FEW 128		/* variables that need no mapping */

struct spw_exec {			/* an exec under way */
	char *const *envp;		/* for the new image */
	bool hand_over;			/* it inherits managed files */
	bool image_ours;		/* the image was a managed file */
	bool hidden;			/* or may be: spw_named_is_hidden */
	char **mapped;
	size_t mapped_len;
	char *few[SPW_EXEC_FEW];
	char preload[1024];		/* a variable without us */
};

/*
 * Before a new image is started, in steps; errno stays as it is.
 *
 * begin	hands every managed descriptor the image inherits to the kernel
 * give	the same for one that is not inherited by itself: a source of
 *		a dup2 action of posix_spawn; or for a file it will open
 * ready	settles what the image could not see otherwise, and makes its
 *		environment out of envp
 * end		when the image was not started, or in the parent
 */
void spw_exec_begin(struct spw_exec *x);
void spw_exec_give(struct spw_exec *x, int fd);
void spw_exec_give_path(struct spw_exec *x, const char *path);
void spw_exec_ready(struct spw_exec *x, const struct spw_image *image,
		    char *const *envp);
void spw_exec_end(struct spw_exec *x);

/* After ETXTBSY: waits a moment and is true if it is worth another try. */
bool spw_exec_again(struct spw_exec *x, int tries);

#endif
