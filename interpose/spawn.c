/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn.c -- children that libc makes by itself: posix_spawn, popen, system */

/*
 * The child's file actions run inside libc, in a process that we never see.
 * What they name is noted while the list is made: sources of dup2, which give
 * the child a descriptor even if it is close-on-exec, and paths to open. At
 * the spawn these are handed to the kernel like everything inherited. A child
 * that goes to another directory first means other files by its paths, the
 * image among them: then all are the kernel's.
 */
#include <errno.h>

#include "interpose/fdtab.h"
#include "interpose/leave.h"
#include "interpose/process.h"
#include "interpose/real.h"
#include "shm/sys.h"

struct note {
	struct note *next;
	const posix_spawn_file_actions_t *actions;
	int fd;				/* of dup2, or -1 */
	bool moves;			/* to another directory */
	char path[];			/* of open */
};

static struct note *notes;		/* under notes_lock */
static pthread_mutex_t notes_lock = PTHREAD_MUTEX_INITIALIZER;

static struct {				/* what environ was lent last */
	pthread_mutex_t lock;
	char **copy;
	size_t size;			/* in bytes; 0: none */
} last = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The list is whole at every moment: one store links or unlinks. */
void
spw_spawn_forked(void)
{
	notes_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	last.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static int
note(const posix_spawn_file_actions_t *actions, int fd, const char *path,
     bool moves)
{
	struct note *n = malloc(sizeof(*n) + strlen(path) + 1);

	if (!n)
		return ENOMEM;
	n->actions = actions;
	n->fd = fd;
	n->moves = moves;
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

	return r ? r : note(actions, fd, "", false);
}

SPW_WRAP int
posix_spawn_file_actions_addopen(posix_spawn_file_actions_t *actions, int fd,
				 const char *path, int flags, mode_t mode)
{
	int r = REAL(posix_spawn_file_actions_addopen)(actions, fd, path,
						       flags, mode);

	return r ? r : note(actions, -1, path, false);
}

SPW_WRAP int
posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions,
				     const char *path)
{
	int r = REAL(posix_spawn_file_actions_addchdir_np)(actions, path);

	return r ? r : note(actions, -1, "", true);
}

SPW_WRAP int
posix_spawn_file_actions_addfchdir_np(posix_spawn_file_actions_t *actions,
				      int fd)
{
	int r = REAL(posix_spawn_file_actions_addfchdir_np)(actions, fd);

	return r ? r : note(actions, -1, "", true);
}

static void
begin(struct spw_exec *x, const posix_spawn_file_actions_t *actions)
{
	bool moves = false;

	spw_exec_begin(x);
	if (!actions || atomic_load(&spw_front.inert))
		return;
	pthread_mutex_lock(&notes_lock);
	for (struct note *n = notes; n; n = n->next) {
		if (n->actions != actions)
			continue;
		if (n->fd >= 0)
			spw_exec_give(x, n->fd);
		else if (!n->moves)
			spw_exec_give_path(x, n->path);
		moves |= n->moves;
	}
	pthread_mutex_unlock(&notes_lock);
	if (moves)
		spw_leave_open(SPW_BYPASS_EXEC);
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
	if (x.hidden) {
		spw_exec_end(&x);
		return ENFILE;
	}
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

/* Since glibc 2.39; pid_t and a descriptor are both ints. */

SPW_WRAP int
pidfd_spawn(int *pidfd, const char *path,
	    const posix_spawn_file_actions_t *actions,
	    const posix_spawnattr_t *attr, char *const argv[],
	    char *const envp[])
{
	return REAL(pidfd_spawn) ? spawn(REAL(pidfd_spawn), false, pidfd,
					 path, actions, attr, argv, envp)
				 : ENOSYS;
}

SPW_WRAP int
pidfd_spawnp(int *pidfd, const char *file,
	     const posix_spawn_file_actions_t *actions,
	     const posix_spawnattr_t *attr, char *const argv[],
	     char *const envp[])
{
	return REAL(pidfd_spawnp) ? spawn(REAL(pidfd_spawnp), true, pidfd,
					  file, actions, attr, argv, envp)
				  : ENOSYS;
}

/*
 * libc gives the shell what environ says. So it is lent a copy that tells the
 * shell to look at what it inherits, and gets its own back afterwards. If the
 * program changed a variable meanwhile, it changed the copy: then that stays,
 * without what we put in. A copy is never freed, since another thread may be
 * reading it, but used again as long as the variables are the same.
 */
struct lent {
	struct spw_exec x;
	char **own, **copy;		/* copy: NULL when nothing was lent */
	size_t size;			/* of it, in bytes */
};

static char **
copy_variables(char *const *envp, size_t size)
{
	char **copy;

	pthread_mutex_lock(&last.lock);
	if (last.size != size || memcmp(last.copy, envp, size)) {
		copy = malloc(size);
		if (copy)
			memcpy(copy, envp, size);
		last.copy = copy;
		last.size = copy ? size : 0;
	}
	copy = last.copy;
	pthread_mutex_unlock(&last.lock);
	return copy;
}

/* It is the program's from now on. */
static void
give_up_copy(char **copy)
{
	pthread_mutex_lock(&last.lock);
	if (last.copy == copy)
		last.size = 0;
	pthread_mutex_unlock(&last.lock);
	(void)unsetenv("SPILLWAY_HANDOVER");
}

static void
before_shell(struct lent *l)
{
	size_t n = 0;

	l->copy = NULL;
	l->own = environ;
	spw_exec_begin(&l->x);
	spw_exec_ready(&l->x, &(struct spw_image){ AT_FDCWD, "/bin/sh", 0,
						   false }, environ);
	if (l->x.envp == environ)
		return;
	while (l->x.envp[n])
		n++;
	l->size = (n + 1) * sizeof(*l->copy);
	l->copy = copy_variables(l->x.envp, l->size);
	if (l->copy)
		environ = l->copy;
}

static void
after_shell(struct lent *l)
{
	int saved = errno;

	if (l->copy && environ == l->copy &&
	    !memcmp(l->copy, l->x.envp, l->size))
		environ = l->own;
	else if (l->copy)
		give_up_copy(l->copy);
	spw_exec_end(&l->x);
	errno = saved;
}

SPW_WRAP int
system(const char *command)
{
	struct lent l;
	int r;

	if (!command)
		return REAL(system)(command);
	before_shell(&l);
	r = REAL(system)(command);
	after_shell(&l);
	return r;
}

SPW_WRAP FILE *
popen(const char *command, const char *mode)
{
	struct lent l;
	FILE *f;

	before_shell(&l);
	f = REAL(popen)(command, mode);
	after_shell(&l);
	return f;
}
SPW_ALIAS(_IO_popen, popen);
