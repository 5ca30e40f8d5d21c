/* SPDX-License-Identifier: BSD-3-Clause */
/* agent.c -- a drainer for a segment that has none */

/*
 * Whoever needs a drainer and finds none comes here. The agent is a process
 * of its own: `spillway agent --segment PATH` from where this library was
 * built or installed. The program must not notice it. It is the child of a
 * child that ended, so it is nobody's here; that child has no exit signal,
 * so there is no SIGCHLD and wait() does not see it; and both share our
 * memory until the exec, as with vfork, so a large program pays nothing.
 *
 * Nobody waits for the agent to be up: what is written rests in the segment
 * meanwhile, and who waits for it to be home looks again. It takes a record of
 * a process before it is loaded, so that the segment is nobody's at no time,
 * and gives that back when it has tried to take office. An agent that has
 * not taken the drainer's lock after START_MS is given up, and a thread of
 * this process takes its place. That thread dies with the process, so the
 * process does not end before everything is home. Where neither can be had
 * files are left to the kernel, after whoever wrote to them, or waits for them
 * to be home, has done the drainer's work.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <sys/wait.h>

#include "interpose/agent.h"
#include "interpose/deep.h"
#include "interpose/front.h"
#include "interpose/leave.h"
#include "interpose/real.h"
#include "shm/conf.h"
#include "shm/nofile.h"
#include "shm/pidns.h"
#include "shm/pool.h"
#include "shm/proc.h"
#include "shm/sys.h"
#include "shm/text.h"
#include "shm/whole.h"

enum {
	LOOK_MS = 50,			/* between looks at the lock */
	START_MS = 2000,
	RETRY_MS = 5000,		/* after a failure */
	TIERS_MS = 1000,		/* to close them: one may be hanging */
	STACK_LEN = 32768,		/* of each of the two children */
	SIGNALS = 64,
};

/* What libspillway-engine.so exports. start makes its threads, which inherit
 * a mask with all signals blocked and call tell first, and returns 0 or a
 * negative errno; forget is for a forked child, which has the descriptors but
 * not the threads; stop ends them, and waits for that, ms or, if negative, as
 * long as it takes. */
typedef int engine_start_fn(const char *segment_path, void (*tell)(void));
typedef void engine_forget_fn(void);
typedef void engine_stop_fn(int64_t ms);

/* And what the calling thread does itself: it starts no thread. */
typedef int engine_drain_fn(const char *segment_path);

static char library[PATH_MAX];		/* this object; "" when unknown */

static struct {
	_Atomic int64_t fine;		/* when all was well, ms */
	_Atomic int64_t started;	/* when an agent was started; 0: no */
	_Atomic uint32_t epoch;		/* seg.drainer_epoch at that time */
	_Atomic int64_t failed;		/* when none could be had; 0: no */
	_Atomic bool busy;		/* somebody is at it */
	_Atomic bool is_thread;		/* it runs in this process */
	engine_forget_fn *_Atomic forget;
	engine_stop_fn *_Atomic stop;
} drainer;

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void
find_library(void)
{
	struct spw_text t;
	Dl_info info;

	if (library[0] || !dladdr(&drainer, &info) || !info.dli_fname)
		return;
	spw_text_init(&t, library, sizeof(library));
	if (info.dli_fname[0] != '/') {
		long n = spw_syscall(SYS_getcwd, (long)library,
				     sizeof(library), 0, 0, 0, 0);

		t.len = n > 0 ? (size_t)n - 1 : 0;
		spw_text_putc(&t, '/');
	}
	spw_text_put(&t, info.dli_fname);
	if (t.cut)
		library[0] = '\0';
}

/* Whether the first n bytes, of one that is preloaded, name us. */
static bool
is_us(const char *entry, size_t n)
{
	const char *name = base_name(library);
	size_t len = strlen(name);

	return len && n >= len && memcmp(entry + n - len, name, len) == 0 &&
	       (n == len || entry[n - len - 1] == '/');
}

bool
spw_agent_is_named_in(const char *preload)
{
	while (*preload) {
		size_t n = strcspn(preload, ": ");

		if (is_us(preload, n))
			return true;
		preload += n + (preload[n] != '\0');
	}
	return false;
}

void
spw_agent_unname(const char *preload, struct spw_text *t)
{
	bool first = true;

	while (*preload) {
		size_t n = strcspn(preload, ": ");

		if (n && !is_us(preload, n)) {
			if (!first)
				spw_text_putc(t, ':');
			for (size_t i = 0; i < n; i++)
				spw_text_putc(t, preload[i]);
			first = false;
		}
		preload += n + (preload[n] != '\0');
	}
}

/* Where the lock cannot be looked at, since no descriptor is left, or this
 * process has another root or fewer rights than it had: a lane that belongs
 * to no process is the drainer's. */
static bool
is_there(struct spw_map *map)
{
	if (atomic_load(&map->seg->wake) == SPW_DRAINER_NONE)
		return false;
	for (uint32_t i = 0; i < spw_lane_count(map); i++)
		if (atomic_load(&map->lanes[i].proc) == SPW_NONE &&
		    atomic_load(&map->lanes[i].state) == SPW_LANE_USED &&
		    !spw_lane_is_dead(map, i))
			return true;
	return false;
}

static int
look_at_lock(void *arg)
{
	const struct spw_map *map = arg;
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET,
		.l_start = SPW_LOCK_BYTE_DRAINER, .l_len = 1,
	};
	int fd = spw_sys_open(map->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
	struct stat st;
	int r;

	if (fd < 0)
		return fd == -ENOENT ? -ESTALE : fd;
	r = spw_sys_fstat(fd, &st);
	if (r == 0 && !spw_seg_is(map, &st))
		r = -ESTALE;
	if (r == 0)
		r = spw_sys_fcntl(fd, F_OFD_GETLK, (long)&lock);
	spw_sys_close(fd);
	return r < 0 ? r : lock.l_type != F_UNLCK;
}

/* 1 when somebody has the drainer's lock, or its last I/O goes on; 0 when
 * nobody; -ESTALE when the segment was removed under this name. */
static int
has_holder(struct spw_map *map)
{
	int r = spw_nofile_do(look_at_lock, map);

	return r < 0 && is_there(map) ? 1 : r;
}

static bool
is_executable(const char *path)
{
	return spw_syscall(SYS_faccessat, AT_FDCWD, (long)path, X_OK, 0, 0,
			   0) == 0;
}

/* The directory of this library ends in tail: the other place relative to
 * what is before it. */
static bool
beside(const char *tail, const char *other, char *buf, size_t cap)
{
	size_t dir = (size_t)(base_name(library) - library);
	size_t len = strlen(tail);
	struct spw_text t;

	if (dir <= len + 1 || library[dir - 1] != '/' ||
	    memcmp(library + dir - 1 - len, tail, len) != 0)
		return false;
	spw_text_init(&t, buf, cap);
	spw_text_putn(&t, library, dir - 1 - len);
	spw_text_put(&t, other);
	return !t.cut && is_executable(buf);
}

/* The command in the build tree, or as it was installed, also when the tree
 * was moved as a whole. */
static bool
find_command(char *buf, size_t cap)
{
	const char *lib = SPW_LIBDIR, *bin = SPW_BINDIR "/spillway";

	if (beside("/.libs", "/spillway", buf, cap))
		return true;
	for (;;) {
		const char *slash = strchr(lib + 1, '/');

		if (beside(lib, bin, buf, cap))
			return true;
		/* Without the directory that both begin with. */
		if (!slash ||
		    strncmp(lib, bin, (size_t)(slash - lib) + 1) != 0)
			break;
		bin += slash - lib;
		lib = slash;
	}
	if (strlen(SPW_BINDIR "/spillway") >= cap)
		return false;
	strcpy(buf, SPW_BINDIR "/spillway");
	return is_executable(buf);
}

struct launch {				/* shared by parent and children */
	const char *command;
	struct spw_map *map;		/* that it is the drainer of, or NULL */
	char *const *argv;
	char **envp;
	char *stack;			/* top of the grandchild's */
	int err;			/* why there is no agent, negative */
};

static void
close_all(void)
{
	struct rlimit limit = { 1024, 1024 };

	if (spw_syscall(SYS_close_range, 3, -1u, 0, 0, 0, 0) == 0)
		return;
	(void)spw_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit,
			  0, 0);
	for (int fd = 3; fd < (int)SPW_MIN(limit.rlim_cur, 65536u); fd++)
		spw_sys_close(fd);
}

static void
reset_signals(void)
{
	const long nothing[4] = { (long)SIG_DFL };

	for (int sig = 1; sig <= SIGNALS; sig++)
		(void)spw_syscall(SYS_rt_sigaction, sig, (long)nothing, 0,
				  sizeof(long), 0, 0);
	(void)spw_syscall(SYS_rt_sigprocmask, SIG_SETMASK,
			  (long)&nothing[1], 0, sizeof(long), 0, 0);
}

/* In our memory: system calls only. The program may have left no descriptor. */
static int
become_agent(void *arg)
{
	struct launch *l = arg;
	bool is_known = false;
	uint32_t proc;
	int null;

	close_all();
	null = spw_sys_open("/dev/null", O_RDWR | O_CLOEXEC, 0);
	(void)spw_syscall(SYS_setsid, 0, 0, 0, 0, 0, 0);
	for (int fd = 0; fd <= 2; fd++)
		if (null != fd)
			(void)spw_syscall(SYS_dup3, null, fd, 0, 0, 0, 0);
		else
			(void)spw_sys_fcntl(fd, F_SETFD, 0);
	(void)spw_syscall(SYS_chdir, (long)"/", 0, 0, 0, 0, 0);
	(void)spw_syscall(SYS_umask, 077, 0, 0, 0, 0, 0);
	reset_signals();
	if (l->map)
		is_known = spw_proc_expect(l->map, &proc) == 0;
	l->err = (int)spw_syscall(SYS_execve, (long)l->command,
				  (long)l->argv, (long)l->envp, 0, 0, 0);
	if (is_known)
		spw_proc_disown(l->map, proc);
	spw_syscall(SYS_exit_group, 127, 0, 0, 0, 0, 0);
	__builtin_unreachable();
}

static int
make_orphan(void *arg)
{
	struct launch *l = arg;

	if (REAL(clone)(become_agent, l->stack, CLONE_VM | CLONE_VFORK, l) < 0)
		l->err = -EAGAIN;
	spw_syscall(SYS_exit_group, 0, 0, 0, 0, 0, 0);
	__builtin_unreachable();
}

static int
launch(struct launch *l, char *stack)
{
	unsigned long all = -1ul, mask;
	int pid, saved = errno;

	l->err = 0;
	l->stack = stack + 2 * STACK_LEN;
	(void)spw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all,
			  (long)&mask, sizeof(mask), 0, 0);
	pid = REAL(clone)(make_orphan, stack + STACK_LEN,
			  CLONE_VM | CLONE_VFORK, l);
	if (pid < 0)
		l->err = -errno;
	else
		while (spw_syscall(SYS_wait4, pid, 0, __WALL, 0, 0, 0) ==
		       -EINTR)
			;
	(void)spw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0,
			  sizeof(mask), 0, 0);
	errno = saved;
	return l->err;
}

/* The same for one that is waited for; its status, or a negative errno. */
static int
launch_and_wait(struct launch *l, char *stack)
{
	unsigned long all = -1ul, mask;
	int pid, status = 0, saved = errno;
	long r;

	l->err = 0;
	(void)spw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all,
			  (long)&mask, sizeof(mask), 0, 0);
	pid = REAL(clone)(become_agent, stack + STACK_LEN,
			  CLONE_VM | CLONE_VFORK, l);
	if (pid < 0)
		l->err = -errno;
	(void)spw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0,
			  sizeof(mask), 0, 0);
	while (pid > 0 && (r = spw_syscall(SYS_wait4, pid, (long)&status,
					   __WALL, 0, 0, 0)) == -EINTR)
		;
	errno = saved;
	return l->err < 0 || pid < 0 ? l->err : status;
}

/* The agent reads the same settings, but is not to be preloaded. */
static bool
is_for_agent(const char *variable)
{
	static const char *const dropped[] = {
		"LD_PRELOAD=", "LD_AUDIT=", "SPILLWAY_HANDOVER=",
		SPW_TOLD "=",
	};

	for (size_t i = 0; i < sizeof(dropped) / sizeof(*dropped); i++)
		if (strncmp(variable, dropped[i], strlen(dropped[i])) == 0)
			return false;
	return true;
}

/* argv[0] is put in place here. */
static int
start(char **argv, struct spw_map *map,
      int (*how)(struct launch *l, char *stack))
{
	char command[PATH_MAX];
	struct launch l = { .command = command, .map = map, .argv = argv };
	size_t n = 1, len;
	char *memory;
	int r;

	find_library();
	if (!find_command(command, sizeof(command)))
		return -ENOENT;
	argv[0] = command;
	for (char **e = environ; e && *e; e++)
		n++;
	len = 2 * STACK_LEN + n * sizeof(char *);
	memory = spw_sys_mmap(NULL, len, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	l.envp = (char **)(memory + 2 * STACK_LEN);
	for (size_t i = 0, k = 0; environ && i < n - 1 && environ[i]; i++)
		if (is_for_agent(environ[i]))
			l.envp[k++] = environ[i];
	r = how(&l, memory);
	(void)spw_sys_munmap(memory, len);
	return r;
}

static int
start_agent(struct spw_map *map)
{
	char *argv[] = { NULL, "agent", "--segment", map->path, NULL };

	return start(argv, map, launch);
}

int
spw_agent_stage_out(const char *path)
{
	char *argv[] = { NULL, "stage", "out", "--quiet", (char *)path, NULL };

	return start(argv, NULL, launch_and_wait);
}

_Atomic bool spw_agent_is_missing;

static bool
name_engine(char *buf, size_t cap)
{
	struct spw_text t;

	spw_text_init(&t, buf, cap);
	spw_text_putn(&t, library, (size_t)(base_name(library) - library));
	spw_text_put(&t, "libspillway-engine.so");
	return !t.cut;
}

bool
spw_agent_is_possible(void)
{
	int mode = spw_front_drainer_mode();
	const char *reason;
	char path[PATH_MAX];

	find_library();
	if (mode != SPW_DRAINER_THREAD && find_command(path, sizeof(path)))
		return true;
	return mode != SPW_DRAINER_AGENT && name_engine(path, sizeof(path)) &&
	       spw_whole(path, &reason) == 0;
}

/* NULL where it cannot be had. */
static void *
load_engine(void)
{
	char path[PATH_MAX];
	const char *reason;

	find_library();
	if (!name_engine(path, sizeof(path)) || spw_whole(path, &reason) < 0)
		return NULL;
	return REAL(dlopen)(path, RTLD_NOW | RTLD_LOCAL);
}

static int
start_thread(const struct spw_map *map)
{
	unsigned long all = -1ul, mask;
	engine_start_fn *start = NULL;
	void *object;
	int r = -ENOENT;

	/* Threads inherit the mask, those a library starts when it is loaded
	 * included. */
	(void)spw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all,
			  (long)&mask, sizeof(mask), 0, 0);
	object = load_engine();
	if (object)
		start = (engine_start_fn *)dlsym(object,
						 "spw_engine_thread_start");
	if (start) {
		atomic_store(&drainer.forget, (engine_forget_fn *)
			     dlsym(object, "spw_engine_thread_forget"));
		atomic_store(&drainer.stop, (engine_stop_fn *)
			     dlsym(object, "spw_engine_thread_stop"));
		r = start(map->path, spw_front_stay_outside);
		atomic_store(&drainer.is_thread, r == 0);
	}
	(void)spw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0,
			  sizeof(mask), 0, 0);
	return r;
}

struct start {
	struct spw_map *map;
	int64_t now;
	int r;
};

static void
start_one(void *arg)
{
	struct start *s = arg;
	struct spw_map *map = s->map;
	int mode = spw_front_drainer_mode(), r = -ETIMEDOUT;
	bool late = atomic_exchange(&drainer.started, 0) != 0;

	find_library();
	if (mode != SPW_DRAINER_THREAD && !late) {
		atomic_store(&drainer.epoch,
			     atomic_load(&map->seg->drainer_epoch));
		r = start_agent(map);
		if (r == 0)
			atomic_store(&drainer.started, s->now);
	}
	if (r < 0 && mode != SPW_DRAINER_AGENT)
		r = start_thread(map);
	s->r = r;
}

struct here {
	struct spw_map *map;
	int r;
};

static void
drain_here(void *arg)
{
	unsigned long all = -1ul, mask;
	engine_drain_fn *drain = NULL;
	struct here *h = arg;
	bool was_outside = spw_front_outside;
	void *object;

	(void)spw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all,
			  (long)&mask, sizeof(mask), 0, 0);
	spw_front_outside = true;
	object = load_engine();
	if (object)
		drain = (engine_drain_fn *)dlsym(object, "spw_engine_drain");
	h->r = drain ? drain(h->map->path) : -ENODEV;
	spw_front_outside = was_outside;
	(void)spw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0,
			  sizeof(mask), 0, 0);
}

int
spw_agent_drain_here(struct spw_map *map)
{
	struct here h = { map, -ENODEV };
	int cancel;

	if (map != &spw_front.map)
		return -ENODEV;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	spw_deep_call(drain_here, &h);
	pthread_setcancelstate(cancel, NULL);
	return h.r;
}

static void
fail(int64_t now, int err)
{
	atomic_store(&drainer.failed, now);
	atomic_store(&spw_agent_is_missing, true);
	if (spw_front_was_told())
		return;
	spw_front_say("no drainer can be started; the kernel serves files",
		      err);
	spw_front_need_not_tell();
}

bool
spw_agent_has_failed(void)
{
	int64_t failed = atomic_load(&drainer.failed);

	return failed && spw_now_ms() - failed < RETRY_MS;
}

/* One that began to serve and left again counts as well. */
static bool
is_coming(const struct spw_map *map, int64_t now)
{
	int64_t started = atomic_load(&drainer.started);

	if (started && atomic_load(&map->seg->drainer_epoch) !=
	    atomic_load(&drainer.epoch))
		atomic_store(&drainer.started, started = 0);
	return started && now - started < START_MS;
}

static int
look(struct spw_map *map, int64_t now)
{
	struct start s = { .map = map, .now = now };
	int r = has_holder(map);

	if (r > 0) {
		atomic_store(&drainer.started, 0);
	} else if (r == 0 && !is_coming(map, now)) {
		spw_deep_call(start_one, &s);
		r = s.r;
	}
	if (r < 0) {
		fail(now, -r);
		return -ENODEV;
	}
	atomic_store(&drainer.failed, 0);
	atomic_store(&spw_agent_is_missing, false);
	atomic_store(&drainer.fine, now);
	return 0;
}

/* A visit to another job's segment: that job has no thread here. */
static int
need_elsewhere(struct spw_map *map)
{
	static _Atomic uint64_t started_for;
	static _Atomic int64_t started;
	int64_t now = spw_now_ms();
	int r = has_holder(map);

	if (r)
		return r < 0 ? r : 0;
	if (atomic_load(&started_for) == map->ino &&
	    now - atomic_load(&started) < START_MS)
		return 0;
	find_library();
	r = start_agent(map);
	atomic_store(&started, now);
	atomic_store(&started_for, map->ino);
	return r;
}

int
spw_agent_need(struct spw_map *map)
{
	int64_t now = spw_now_ms(), failed = atomic_load(&drainer.failed);
	bool idle = false;
	int r;

	if (map != &spw_front.map)
		return need_elsewhere(map);

	if (now - atomic_load(&drainer.fine) < LOOK_MS)
		return 0;
	if (failed && now - failed < RETRY_MS)
		return -ENODEV;
	if (!atomic_compare_exchange_strong(&drainer.busy, &idle, true))
		return 0;
	r = look(map, now);
	atomic_store(&drainer.busy, false);
	return r;
}

/* A drainer that is a thread of the parent stays there. */
void
spw_agent_forked(void)
{
	engine_forget_fn *forget = atomic_exchange(&drainer.forget, NULL);

	atomic_store(&drainer.busy, false);
	atomic_store(&drainer.failed, 0);
	atomic_store(&spw_agent_is_missing, false);
	atomic_store(&drainer.is_thread, false);
	atomic_store(&drainer.stop, NULL);
	if (forget)
		forget();
}

void
spw_agent_withdrawn(void)
{
	engine_stop_fn *stop = atomic_exchange(&drainer.stop, NULL);

	if (atomic_exchange(&drainer.is_thread, false) && stop)
		stop(-1);
}

static bool
is_dirty(const struct spw_map *map)
{
	for (uint32_t i = 0; i < spw_pool_words(map, SPW_POOL_BLOCKS); i++)
		if (atomic_load_explicit(&map->dirty[i],
					 memory_order_relaxed))
			return true;
	return false;
}

/*
 * Whether the drainer may be gone as soon as we are: a thread of ours, or an
 * agent among the processes of a container, which the kernel kills when the
 * first of them ends, and whose /dev/shm goes as well. A run waits by itself.
 */
static bool
ends_with_us(const struct spw_map *map)
{
	return atomic_load(&drainer.is_thread) ||
	       (atomic_load(&map->seg->drainer_host) != SPW_HOST_RUN &&
		spw_pidns_may_end());
}

/* The child of a vfork has the parent's memory, and the parent lives on. */
static struct spw_proc *
own_entry(void)
{
	struct spw_proc *p;

	if (!atomic_load(&spw_front.attached))
		return NULL;
	p = &spw_front.map.procs[spw_front.proc];
	return atomic_load(&p->pid) == (uint32_t)spw_sys_getpid() ? p : NULL;
}

/* What we leave behind should have a drainer, if ours died unnoticed. One
 * that ends with the process brings everything home first. */
void
spw_agent_finish(void)
{
	int saved = errno;

	if (!atomic_load(&spw_front.attached))
		return;
	if (own_entry())
		spw_fdtab_secure_all();
	if ((is_dirty(&spw_front.map) && spw_agent_need(&spw_front.map) < 0) ||
	    ends_with_us(&spw_front.map))
		(void)spw_settle_all();
	errno = saved;
}

/* Nobody outlives the programs, since none of them needed a drainer. */
static bool
is_unserved(struct spw_map *map)
{
	return has_holder(map) == 0 && !is_coming(map, spw_now_ms());
}

/* The segment goes with this process, if it is the last one. */
static bool
is_ours_to_end(void)
{
	return atomic_load(&spw_front.attached) &&
	       (atomic_load(&drainer.is_thread) ||
		spw_front_drainer_mode() == SPW_DRAINER_THREAD ||
		is_unserved(&spw_front.map));
}

static void
end(void)
{
	engine_stop_fn *stop = NULL;

	spw_agent_finish();
	if (is_ours_to_end() && spw_agent_end_job())
		stop = atomic_load(&drainer.stop);
	if (stop)
		stop(TIERS_MS);
}

void
spw_agent_exec_begins(bool hands_over)
{
	if (!own_entry())
		return;
	spw_agent_finish();
	if (!hands_over && is_ours_to_end())
		(void)spw_agent_end_job();
}

void
spw_agent_exec_failed(void)
{
	struct spw_proc *p = own_entry();

	if (p)
		atomic_store(&p->leaving, 0);
}

SPW_WRAP void
_exit(int status)
{
	end();
	REAL(_exit)(status);
	__builtin_unreachable();
}
SPW_ALIAS(_Exit, _exit);

/* quick_exit runs no destructors, and what is registered before all others is
 * called after them. */
static __attribute__((constructor)) void
set_up(void)
{
	find_library();
	(void)at_quick_exit(end);
}

/* Streams are flushed by libc after the last destructor: too late. */
static __attribute__((destructor)) void
tear_down(void)
{
	if (atomic_load(&spw_front.attached) && ends_with_us(&spw_front.map))
		(void)fflush(NULL);
	end();
}
