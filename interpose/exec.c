/* SPDX-License-Identifier: BSD-3-Clause */
/* exec.c -- a new image finds its files at home and in the kernel's hands */

/*
 * Our tables end with the image. So whatever descriptor survives leaves the
 * cache first (reason exec), and if the new image has us again, the variable
 * SPILLWAY_HANDOVER tells it to look at what it inherited. An image without
 * us (LD_PRELOAD taken away, statically linked, set-uid) reads files by the
 * kernel alone, so everything is brought home before it starts. A program
 * that took LD_PRELOAD away meant it; it is not put back. One with another
 * libc's loader, which could not load us, does not hear of us.
 *
 * exec is called in forked children and in signal handlers: no malloc here.
 */
#include <alloca.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>

#include "interpose/agent.h"
#include "interpose/fdtab.h"
#include "interpose/leave.h"
#include "interpose/named.h"
#include "interpose/process.h"
#include "interpose/real.h"
#include "shm/sys.h"
#include "shm/text.h"

static const char hand_over[] = "SPILLWAY_HANDOVER=1";
static const char told[] = SPW_TOLD "=1";

enum {
	BUSY_TRIES = 200, BUSY_US = 5000,
};

static bool
is_ours(int fd)
{
	return atomic_load(&spw_front.attached) && spw_fdtab_has(fd);
}

void
spw_exec_give(struct spw_exec *x, int fd)
{
	int saved = errno;

	if (!is_ours(fd))
		return;
	(void)spw_leave(fd, SPW_BYPASS_EXEC);
	x->hand_over = true;
	errno = saved;
}

/* The file at a path that somebody will open in the kernel. */
static void
leave_file(struct spw_me *me, uint32_t file)
{
	struct spw_file *f = &me->map->files[file];

	spw_leave_begin(me, file);
	spw_gate_close(me, file);
	if (!atomic_load(&f->bypass) && spw_gate_hand_over(me, file) == 0) {
		spw_gate_drop(me, file, 0);
		if (atomic_load(&f->opens) > 1)	/* others than we */
			spw_file_bypass(me->map, file, SPW_BYPASS_EXEC);
	}
	spw_gate_open(me, file);
	spw_leave_end(me, file);
}

void
spw_exec_give_path(struct spw_exec *x, const char *path)
{
	struct spw_me *me;
	uint32_t file = spw_take_path(AT_FDCWD, path, 0, &me);

	if (spw_front_look())
		x->hand_over = true;
	if (file == SPW_NONE)
		return;
	leave_file(me, file);
	spw_file_close(me, file);
}

void
spw_exec_begin(struct spw_exec *x)
{
	x->hand_over = x->image_ours = x->hidden = false;
	x->mapped = NULL;
	for (int fd = spw_process_next_fd(0); fd >= 0;
	     fd = spw_process_next_fd(fd + 1)) {
		int flags = spw_sys_fcntl(fd, F_GETFD, 0);

		if (flags >= 0 && !(flags & FD_CLOEXEC))
			spw_exec_give(x, fd);
	}
}

static const char *
variable(char *const *envp, const char *name, size_t len)
{
	const char *value = NULL;

	for (; envp && *envp; envp++)	/* the loader takes the last one */
		if (strncmp(*envp, name, len) == 0)
			value = *envp + len;
	return value;
}

static bool
has_us(char *const *envp)
{
	const char *value = variable(envp, "LD_PRELOAD=", 11);

	return value && spw_agent_is_named_in(value);
}

/* The first file along PATH that could be executed; how execvp goes on after
 * EACCES or a missing interpreter makes no difference here. */
static bool
search(const char *name, char *buf, size_t cap)
{
	const char *dirs = getenv("PATH");
	size_t len = strlen(name);

	while (dirs && *dirs) {
		size_t n = strcspn(dirs, ":");
		char *p = buf;

		if (n + len + 2 <= cap) {
			memcpy(p, dirs, n);
			p += n;
			if (n)
				*p++ = '/';
			memcpy(p, name, len + 1);
			if (spw_syscall(SYS_faccessat, AT_FDCWD, (long)buf,
					X_OK, 0, 0, 0) == 0)
				return true;
		}
		dirs += n + (dirs[n] == ':');
	}
	return false;
}

/* The kernel reads the image from home. Names outside of what is managed
 * are not worth a look at the segment. */
static void
bring_image_home(struct spw_exec *x, int dir, const char *path, int flags)
{
	struct spw_me *me;
	uint32_t file;

	if (path[0] == '/' && !spw_front_wants(path))
		return;
	file = spw_lookup_path(dir, path, flags & AT_SYMLINK_NOFOLLOW);
	x->hidden = spw_named_is_hidden(dir, path);
	me = file == SPW_NONE ? NULL : spw_front_me();
	if (!me)
		return;
	(void)spw_gate_ask(me, file);
	x->image_ours = true;
}

static enum spw_hearing
look_at_image(struct spw_exec *x, const struct spw_image *image)
{
	char found[PATH_MAX];
	const char *path = image->path;
	long r;

	if (image->search && !strchr(path, '/')) {
		if (!search(path, found, sizeof(found)))
			return SPW_HEARS;
		path = found;
	}
	/* Also finds out whether path points anywhere. */
	r = spw_syscall(SYS_faccessat, image->dir, (long)path, F_OK, 0, 0, 0);
	if (r == -ENOENT && image->flags & AT_EMPTY_PATH && !*path) {
		spw_exec_give(x, image->dir);
		return SPW_HEARS;
	}
	if (r < 0)
		return SPW_HEARS;	/* exec will say what is wrong */
	bring_image_home(x, image->dir, path, image->flags);
	return spw_image_hears(image->dir, path);
}

static size_t
count(char *const *envp)
{
	size_t n = 0;

	while (envp && envp[n])
		n++;
	return n;
}

/* Everything but the variable whose name, with "=", is so long; then set, if
 * it is not NULL. */
static char *const *
exchange(struct spw_exec *x, char *const *envp, const char *name, size_t len,
	 const char *set)
{
	size_t n = count(envp), k = 0;
	char **to = x->few;

	if (n + 2 > SPW_EXEC_FEW) {
		x->mapped_len = (n + 2) * sizeof(*to);
		to = spw_sys_mmap(NULL, x->mapped_len, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (to == MAP_FAILED)
			return envp;
		x->mapped = to;
	}
	for (size_t i = 0; i < n; i++)
		if (strncmp(envp[i], name, len) != 0)
			to[k++] = envp[i];
	if (set)
		to[k++] = (char *)set;
	to[k] = NULL;
	return to;
}

/* The variable, set to 1 or not there; envp itself when it is so already. */
static char *const *
with_variable(struct spw_exec *x, char *const *envp, const char *set,
	      bool want)
{
	size_t len = strlen(set) - 1;

	if (want == (variable(envp, set, len) != NULL))
		return envp;
	return exchange(x, envp, set, len, want ? set : NULL);
}

/* Its loader would complain of us, or not start it. */
static char *const *
without_us(struct spw_exec *x, char *const *envp)
{
	static const char name[] = "LD_PRELOAD=";
	struct spw_text t;

	spw_text_init(&t, x->preload, sizeof(x->preload));
	spw_text_put(&t, name);
	spw_agent_unname(variable(envp, name, sizeof(name) - 1), &t);
	if (t.cut)
		return envp;
	return exchange(x, envp, name, sizeof(name) - 1,
			t.len > sizeof(name) - 1 ? x->preload : NULL);
}

void
spw_exec_ready(struct spw_exec *x, const struct spw_image *image,
	       char *const *envp)
{
	int saved = errno;
	bool with_us = has_us(envp);
	enum spw_hearing hearing;

	x->envp = envp;
	if (!spw_front_is_on()) {
		if (with_us && spw_front_was_told())
			x->envp = with_variable(x, envp, told, true);
		errno = saved;
		return;
	}
	hearing = look_at_image(x, image);
	if (hearing != SPW_HEARS || !with_us)
		spw_leave_open(SPW_BYPASS_EXEC);
	if (hearing == SPW_FOREIGN && with_us)
		x->envp = without_us(x, envp);
	else
		x->envp = with_variable(x, envp, hand_over,
					x->hand_over && with_us);
	errno = saved;
}

void
spw_exec_end(struct spw_exec *x)
{
	if (x->mapped)
		(void)spw_sys_munmap(x->mapped, x->mapped_len);
	x->mapped = NULL;
}

/* An image of ours that is still open for writing may be so for a moment: the
 * drainer has just begun to write to it again. */
bool
spw_exec_again(struct spw_exec *x, int tries)
{
	if (!x->image_ours || tries > BUSY_TRIES)
		return false;
	spw_sys_sleep_us(BUSY_US);
	return true;
}

static int
start(const struct spw_image *image, char *const *argv, char *const *envp)
{
	if (image->search)
		return REAL(execvpe)(image->path, argv, envp);
	if (image->dir == AT_FDCWD && !image->flags)
		return REAL(execve)(image->path, argv, envp);
	return REAL(execveat)(image->dir, image->path, argv, envp,
			      image->flags);
}

static int
execute(const struct spw_image *image, char *const *argv, char *const *envp)
{
	struct spw_exec x;
	int r, tries = 0;

	spw_exec_begin(&x);
	spw_exec_ready(&x, image, envp);
	if (x.hidden) {
		spw_exec_end(&x);
		return (int)spw_ret(-ENFILE);
	}
	spw_agent_exec_begins(x.hand_over);
	do
		r = start(image, argv, x.envp);
	while (r < 0 && errno == ETXTBSY && spw_exec_again(&x, ++tries));
	spw_agent_exec_failed();
	spw_exec_end(&x);
	return r;
}

SPW_WRAP int
execve(const char *path, char *const argv[], char *const envp[])
{
	return execute(&(struct spw_image){ AT_FDCWD, path, 0, false }, argv,
		       envp);
}

SPW_WRAP int
execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

SPW_WRAP int
execvpe(const char *file, char *const argv[], char *const envp[])
{
	return execute(&(struct spw_image){ AT_FDCWD, file, 0, true }, argv,
		       envp);
}

SPW_WRAP int
execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

SPW_WRAP int
execveat(int dir, const char *path, char *const argv[], char *const envp[],
	 int flags)
{
	return execute(&(struct spw_image){ dir, path, flags, false }, argv,
		       envp);
}

SPW_WRAP int
fexecve(int fd, char *const argv[], char *const envp[])
{
	struct spw_exec x;
	int r;

	spw_exec_begin(&x);
	spw_exec_ready(&x, &(struct spw_image){ fd, "", AT_EMPTY_PATH, false },
		       envp);
	spw_agent_exec_begins(x.hand_over);
	r = REAL(fexecve)(fd, argv, x.envp);
	spw_agent_exec_failed();
	spw_exec_end(&x);
	return r;
}

/* execl and its kin: the list becomes an array on the stack. */

static size_t
count_list(const char *arg, va_list *ap)
{
	size_t n = 0;

	for (; arg; arg = va_arg(*ap, const char *))
		n++;
	return n;
}

static void
fill_list(char **argv, const char *arg, va_list *ap)
{
	for (; arg; arg = va_arg(*ap, const char *))
		*argv++ = (char *)arg;
	*argv = NULL;
}

SPW_WRAP int
execl(const char *path, const char *arg, ...)
{
	va_list ap;
	char **argv;

	va_start(ap, arg);
	argv = alloca((count_list(arg, &ap) + 1) * sizeof(*argv));
	va_end(ap);
	va_start(ap, arg);
	fill_list(argv, arg, &ap);
	va_end(ap);
	return execv(path, argv);
}

SPW_WRAP int
execlp(const char *file, const char *arg, ...)
{
	va_list ap;
	char **argv;

	va_start(ap, arg);
	argv = alloca((count_list(arg, &ap) + 1) * sizeof(*argv));
	va_end(ap);
	va_start(ap, arg);
	fill_list(argv, arg, &ap);
	va_end(ap);
	return execvp(file, argv);
}

SPW_WRAP int
execle(const char *path, const char *arg, ...)
{
	va_list ap;
	char **argv, **envp;

	va_start(ap, arg);
	argv = alloca((count_list(arg, &ap) + 1) * sizeof(*argv));
	va_end(ap);
	va_start(ap, arg);
	fill_list(argv, arg, &ap);
	envp = va_arg(ap, char **);
	va_end(ap);
	return execve(path, argv, envp);
}
