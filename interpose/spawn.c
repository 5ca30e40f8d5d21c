/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn.c -- children that libc makes by itself: posix_spawn, popen, system */

/*
 * The child's file actions run inside libc, in a process that we never see.
 * What they name is noted while the list is made: sources of dup2, which give
 * the child a descriptor even if it is close-on-exec, and paths to open. At
 * the spawn these are handed to the kernel like everything inherited.
 */
#include <errno.h>

#include "interpose/fdtab.h"
#include "interpose/process.h"
#include "interpose/real.h"
#include "shm/sys.h"

struct note {
	struct note *next;
	const posix_spawn_file_actions_t *actions;
	int fd;				/* of dup2, or -1 */
	char path[];			/* of open */
};

static struct note *notes;		/* under notes_lock */
static pthread_mutex_t notes_lock = PTHREAD_MUTEX_INITIALIZER;

/* The list is whole at every moment: one store links or unlinks. */
void
spw_spawn_forked(void)
{
	notes_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static int
note(const posix_spawn_file_actions_t *actions, int fd, const char *path)
{
	struct note *n = malloc(sizeof(*n) + strlen(path) + 1);

	if (!n)
		return ENOMEM;
	n->actions = actions;
	n->fd = fd;
	strcpy(n->path, path);
	pthread_mutex_lock(&notes_lock);
	n->next = notes;
	notes = n;
	pthread_mutex_unlock(&notes_lock);
	return 0;
}

/* Also for a list that starts anew where another was never destroyed. */
static void
forget(const posix_spawn_file_actions_t *actions)
{
	struct note **at, *n, *gone = NULL;

	pthread_mutex_lock(&notes_lock);
	for (at = &notes; (n = *at);) {
		if (n->actions != actions) {
			at = &n->next;
			continue;
		}
		*at = n->next;
		n->next = gone;
		gone = n;
	}
	pthread_mutex_unlock(&notes_lock);
	for (; (n = gone); free(n))
		gone = n->next;
}

SPW_WRAP int
posix_spawn_file_actions_init(posix_spawn_file_actions_t *actions)
{
	forget(actions);
	return REAL(posix_spawn_file_actions_init)(actions);
}

SPW_WRAP int
posix_spawn_file_actions_destroy(posix_spawn_file_actions_t *actions)
{
	forget(actions);
	return REAL(posix_spawn_file_actions_destroy)(actions);
}

SPW_WRAP int
posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions, int fd,
				 int to)
{
	int r = REAL(posix_spawn_file_actions_adddup2)(actions, fd, to);

	return r ? r : note(actions, fd, "");
}

SPW_WRAP int
posix_spawn_file_actions_addopen(posix_spawn_file_actions_t *actions, int fd,
				 const char *path, int flags, mode_t mode)
{
	int r = REAL(posix_spawn_file_actions_addopen)(actions, fd, path,
						       flags, mode);

	return r ? r : note(actions, -1, path);
}

static void
begin(struct spw_exec *x, const posix_spawn_file_actions_t *actions)
{
	spw_exec_begin(x);
	if (!actions || atomic_load(&spw_front.inert))
		return;
	pthread_mutex_lock(&notes_lock);
	for (struct note *n = notes; n; n = n->next) {
		if (n->actions != actions)
			continue;
		if (n->fd >= 0)
			spw_exec_give(x, n->fd);
		else
			spw_exec_give_path(x, n->path);
	}
	pthread_mutex_unlock(&notes_lock);
}

static int
spawn(__typeof__(posix_spawn) *how, bool search, pid_t *pid, const char *path,
      const posix_spawn_file_actions_t *actions,
      const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	struct spw_image image = { AT_FDCWD, path, 0, search };
	struct spw_exec x;
	int r, tries = 0;

	begin(&x, actions);
	spw_exec_ready(&x, &image, envp);
	do
		r = how(pid, path, actions, attr, argv, x.envp);
	while (r == ETXTBSY && spw_exec_again(&x, ++tries));
	spw_exec_end(&x);
	return r;
}

SPW_WRAP int
posix_spawn(pid_t *pid, const char *path,
	    const posix_spawn_file_actions_t *actions,
	    const posix_spawnattr_t *attr, char *const argv[],
	    char *const envp[])
{
	return spawn(REAL(posix_spawn), false, pid, path, actions, attr, argv,
		     envp);
}

SPW_WRAP int
posix_spawnp(pid_t *pid, const char *file,
	     const posix_spawn_file_actions_t *actions,
	     const posix_spawnattr_t *attr, char *const argv[],
	     char *const envp[])
{
	return spawn(REAL(posix_spawnp), true, pid, file, actions, attr, argv,
		     envp);
}

/*
 * The shell gets our environ as it is: SPILLWAY_HANDOVER could be put in only
 * by changing it under the feet of other threads. Without it the shell does
 * not claim the files it inherits, but as long as this process, too, has them
 * open they stay with the kernel.
 */
static void
before_shell(void)
{
	struct spw_exec x;

	spw_exec_begin(&x);
	spw_exec_ready(&x, &(struct spw_image){ AT_FDCWD, "/bin/sh", 0,
						false }, environ);
	spw_exec_end(&x);
}

SPW_WRAP int
system(const char *command)
{
	if (command)
		before_shell();
	return REAL(system)(command);
}

SPW_WRAP FILE *
popen(const char *command, const char *mode)
{
	before_shell();
	return REAL(popen)(command, mode);
}
SPW_ALIAS(_IO_popen, popen);
