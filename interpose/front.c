/* SPDX-License-Identifier: BSD-3-Clause */
/* front.c -- Spillway's life in a program: settings, segment, lanes */

/*
 * The constructor reads the settings and looks up the real functions; it does
 * not touch the segment. That is joined, or made, at the first open of a file
 * that is to be managed. Anything that goes wrong leaves the program alone:
 * one line, and from then on every wrapper calls the real function.
 */
#include "interpose/front.h"

#include <limits.h>
#include <unistd.h>

#include "interpose/agent.h"
#include "interpose/deaf.h"
#include "interpose/deep.h"
#include "interpose/fdtab.h"
#include "interpose/real.h"
#include "interpose/signals.h"
#include "shm/allowed.h"
#include "shm/blocks.h"
#include "shm/claims.h"
#include "shm/conf.h"
#include "shm/job.h"
#include "shm/jobend.h"
#include "shm/lane.h"
#include "shm/nofile.h"
#include "shm/pidns.h"
#include "shm/pool.h"
#include "shm/proc.h"
#include "shm/text.h"

enum { PATIENCE_MS = 10000, LOOK_NS = 100000, NAMES = 10 };

struct spw_front spw_front = { .proc = SPW_NONE, .fsize_limit = UINT64_MAX };
__thread bool spw_front_outside;

static struct spw_config config;
static struct spw_tierlist tiers;
static char below[SPW_SEG_TIERS];	/* tiers, as the segment has them */
static struct spw_dirs include, exclude;	/* free of links */

static __thread struct spw_me my_lane;
static __thread uint32_t my_epoch;
static pthread_key_t lane_key;			/* gives lanes back */
static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;	/* attaching */

void
spw_front_say(const char *what, int err)
{
	char line[512];
	struct spw_text t;

	if (config.quiet)
		return;
	spw_text_init(&t, line, sizeof(line));
	spw_text_fmt(&t, "spillway: warning: %s", what);
	if (err)
		spw_text_fmt(&t, ": %s", spw_diag_errno(err));
	spw_text_put(&t, "\n");
	(void)spw_sys_write(2, line, t.len);	/* nobody to tell otherwise */
}

/* That the program runs without us is said once, not by each one that it
 * starts: those are told that it was. Before main the variable is set here, so
 * that a shell hands it on to whatever it starts; later at exec. */
static _Atomic bool was_told;
static bool is_begun;

bool
spw_front_was_told(void)
{
	return atomic_load(&was_told);
}

void
spw_front_need_not_tell(void)
{
	atomic_store(&was_told, true);
	if (!is_begun)
		(void)setenv(SPW_TOLD, "1", 1);
}

static void
decline(const char *what, int err)
{
	if (!spw_front_was_told())
		spw_front_say(what, err);
	spw_front_need_not_tell();
}

static void
say_diag(const struct spw_diag *d)
{
	char line[SPW_DIAG_MAX];
	const char *consequence = d->severity == SPW_ERROR
				  ? "the program runs without Spillway" : NULL;
	size_t n = spw_diag_oneline(d, consequence, line, sizeof(line));

	if (!spw_front_was_told())
		(void)spw_sys_write(2, line, n);
	if (consequence)
		spw_front_need_not_tell();
}

bool
spw_front_wants(const char *path)
{
	static const char *const never[] = { "/proc", "/sys", "/dev" };
	const char *name = strrchr(path, '/');
	bool in = false;

	if (path[0] != '/' || !name)
		return false;
	for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
		if (spw_path_is_below(path, never[i]))
			return false;
	/* Shared objects are mapped and run; the loader opens them itself. */
	name = strstr(name, ".so");
	if (name && (name[3] == '\0' || name[3] == '.'))
		return false;
	for (unsigned i = 0; i < include.n && !in; i++)
		in = spw_path_is_below(path, spw_dirs_get(&include, i));
	for (unsigned i = 0; i < exclude.n && in; i++)
		in = !spw_path_is_below(path, spw_dirs_get(&exclude, i));
	return in;
}

static void
resolve(const struct spw_dirs *from, struct spw_dirs *to)
{
	char path[SPW_PATH_MAX];

	for (unsigned i = 0; i < from->n; i++) {
		const char *dir = spw_dirs_get(from, i);

		/* One that does not exist yet counts as it is written. */
		(void)spw_dirs_add(to, spw_path_real(dir, path) < 0 ? dir
								   : path);
	}
}

/* The segment's own directory and the tiers' are never managed. */
static void
exclude_ours(void)
{
	(void)spw_dirs_add(&exclude, config.shm_dir);
	for (unsigned i = 0; i < tiers.n; i++) {
		const char *place = spw_tierspec_place(&tiers,
						       &tiers.tier[i]);

		if (place[0] == '/')
			(void)spw_dirs_add(&exclude, place);
	}
}

static bool
read_settings(void)
{
	struct spw_config_source src = { .envp = environ };
	struct spw_diags diags = { 0 };
	struct spw_diag diag = { 0 };

	if (spw_config_is_disabled(environ))
		return false;
	if (spw_config_load(&src, &config, &diags) < 0) {
		say_diag(&diags.at[diags.n - 1]);
		return false;
	}
	if (config.disable)
		return false;
	if (spw_config_tiers(&config, environ, &tiers, &diag) < 0) {
		say_diag(&diag);
		return false;
	}
	resolve(&config.include, &include);
	resolve(&config.exclude, &exclude);
	exclude_ours();
	return true;
}

static void
tell_deaf(void *arg, const struct spw_diag *d)
{
	(void)arg;
	if (!config.quiet)
		say_diag(d);
}

static uint64_t
ram_bytes(void)
{
	struct spw_diag diag = { 0 };

	(void)spw_tierspec_sift(&tiers, spw_deaf_is, tell_deaf, NULL);
	if (spw_config_check(&config, &tiers, &diag) < 0) {
		say_diag(&diag);
		return 0;
	}
	if (diag.severity == SPW_WARNING && !config.quiet)
		say_diag(&diag);
	for (unsigned i = 0; i < tiers.n; i++)
		if (tiers.tier[i].kind == SPW_KIND_RAM)
			return tiers.tier[i].capacity;
	return 0;
}

/* A limited address space is the program's: a mapping counts in it, used or
 * not. But a segment that is there already is joined all the same, since
 * others' bytes are in it. */
static bool
crowds_out(uint64_t size)
{
	enum { SHARE = 16 };
	struct rlimit limit;

	return getrlimit(RLIMIT_AS, &limit) == 0 &&
	       limit.rlim_cur != RLIM_INFINITY &&
	       size > limit.rlim_cur / SHARE;
}

enum need {				/* what a segment is joined for */
	TO_LOOK,			/* if it is there */
	TO_READ, TO_WRITE
};

static int
create(const char *job, enum need need)
{
	char seed[SPW_SEG_SEED];
	struct spw_seg_request req = {
		.dir = config.shm_dir, .job = job, .bytes = ram_bytes(),
		.delay_ms = (uint32_t)(config.drain_delay / 1000000),
		.workers = spw_config_workers(&config),
		.ends = spw_jobend_find(environ),
		.margin_ms = (uint32_t)(config.drain_margin / 1000000),
		.keep = config.at_exit == SPW_AT_EXIT_KEEP,
		.made = need == TO_READ ? SPW_MADE_TO_READ : SPW_MADE_TO_WRITE,
		.tiers = below, .below = spw_tierspec_below(&tiers),
		.weights = spw_config_weights(&config),
		.seed = spw_config_seed(&config, environ, seed) ? seed : NULL,
	};

	if (!req.bytes)
		return -ECANCELED;	/* the reason was told */
	if (crowds_out(req.bytes))
		return -ENOMEM;
	if (!spw_agent_is_possible()) {
		decline("neither the command spillway nor a whole "
			"libspillway-engine.so is beside libspillway.so; the "
			"program runs without Spillway", 0);
		return -ECANCELED;
	}
	if (spw_tierspec_write(&tiers, below, sizeof(below)) < 0)
		return -ENAMETOOLONG;
	return spw_seg_create(&req, &spw_front.map);
}

static bool
has_a_home(const struct spw_map *map, uint32_t block)
{
	const struct spw_block *b = &map->blocks[block];
	uint32_t file = spw_glance32(&b->file);

	return file < map->counts[SPW_POOL_FILES] &&
	       !(atomic_load(&map->files[file].flags) & SPW_FILE_UNLINKED) &&
	       spw_block_is_dirty(b);
}

/* Whether bytes wait to come home; those of removed files need not. */
static bool
holds_bytes(const struct spw_map *map)
{
	for (uint32_t i = 0; i < spw_pool_words(map, SPW_POOL_BLOCKS); i++) {
		uint64_t bits = atomic_load(&map->dirty[i]);

		for (; bits; bits &= bits - 1)
			if (has_a_home(map, i * 64 +
				       (uint32_t)__builtin_ctzll(bits)))
				return true;
	}
	return false;
}

/* A segment nobody serves or uses and that holds bytes is a dead job's: 1. Or
 * 0; -ENFILE: that cannot be told. */
static int
is_stale(void)
{
	struct spw_map *map = &spw_front.map;
	int fd;

	if (!holds_bytes(map) || spw_proc_any_other(map, 0))
		return 0;
	fd = spw_seg_lock_byte(map, SPW_LOCK_BYTE_DRAINER);
	if (fd >= 0)
		spw_seg_unlock_byte(fd, SPW_LOCK_BYTE_DRAINER);
	return fd == -ENFILE ? fd : fd != -EAGAIN;
}

struct wanted {
	const char *job;
	enum need need;
};

/* 0 with the map; -EEXIST: stale, try another name. A segment may be made and
 * removed by others between two looks. */
static int
join_or_make(void *arg)
{
	const struct wanted *w = arg;
	char path[SPW_SEG_PATH_MAX];
	int r = spw_seg_path(config.shm_dir, w->job, path, sizeof(path));

	if (r < 0)
		return r;
	do {
		r = spw_seg_attach(path, &spw_front.map);
		if (r == -ENOENT && w->need != TO_LOOK) {
			r = create(w->job, w->need);
			if (r != -EEXIST)
				return r;
		}
	} while (r == -EEXIST);
	if (r < 0)
		return r;
	r = is_stale();
	if (r)
		spw_seg_detach(&spw_front.map);
	return r > 0 ? -EEXIST : r;
}

/* Who has no descriptor left joins others who may have written, by a guest that
 * has some. He makes no segment, and is no drainer: for that he would need
 * them. */
static int
find_under(const char *name, enum need need)
{
	int r = join_or_make(&(struct wanted){ name, need });

	if (r != -EMFILE || config.drainer == SPW_DRAINER_THREAD)
		return r;
	r = spw_nofile_do(join_or_make, &(struct wanted){ name, TO_LOOK });
	return r == -ENOENT ? -EMFILE : r;
}

/* The first of the job's names, those before it left out, that can be used. */
static int
find_segment(enum need need, unsigned first)
{
	char job[SPW_JOB_MAX + 8], name[SPW_JOB_MAX + 16];
	struct spw_text t;
	int r = -EEXIST;

	spw_job_name(&config, environ, job, sizeof(job));
	for (unsigned k = first; k < NAMES && (r == -EEXIST || r == -ESTALE ||
					r == -EPROTO || r == -EBADMSG); k++) {
		if (k == first + 1)
			spw_front_say("a segment of a dead job holds bytes "
				      "that are not home; see: "
				      "spillway recover  [W160]", 0);
		spw_text_init(&t, name, sizeof(name));
		spw_text_put(&t, job);
		if (k)
			spw_text_fmt(&t, ".%u", k);
		r = find_under(name, need);
	}
	return r;
}

static int
enter_claims(void *map)
{
	return spw_claims_join(map, config.shm_dir);
}

static const char *
blame_claims(int err)
{
	if (err == -EPROTO)
		return "is of another version of Spillway, and to be deleted "
		       "if no job of that one runs";
	if (err == -EBADMSG)
		return "is damaged, and to be deleted if no job runs";
	return "cannot be used";
}

/* Without it nobody would know that two jobs have the same file. */
static int
join_claims(uint32_t proc)
{
	char line[SPW_SEG_PATH_MAX + 192];
	struct spw_text t;
	int r = spw_nofile_do(enter_claims, &spw_front.map);

	if (r == 0)
		return 0;
	spw_proc_disown(&spw_front.map, proc);
	if (r == -ENFILE)
		return r;
	spw_text_init(&t, line, sizeof(line));
	spw_text_fmt(&t, "%s/spillway.%u/claims %s; the program runs without "
		     "Spillway  [W166]", config.shm_dir, spw_sys_geteuid(),
		     blame_claims(r));
	decline(line, r == -EPROTO || r == -EBADMSG ? 0 : -r);
	return -ECANCELED;
}

/* One that nobody has used, and we cannot. */
static int
remove_unused(void *arg)
{
	struct spw_map *map = arg;
	int fd = spw_proc_shut_out(map);

	if (fd < 0)
		return fd;
	if (!atomic_load(&map->seg->attached) &&
	    !atomic_load(&map->seg->drainer_epoch) &&
	    !spw_proc_any_other(map, 0))
		(void)spw_sys_unlink(map->path);	/* else it is joined */
	spw_proc_let_in(map, fd);
	return 0;
}

static int
settle_in(void)
{
	uint32_t proc, drainer;
	int r = spw_proc_join(&spw_front.map, &proc);

	if (r == 0)
		r = join_claims(proc);
	if (r < 0) {
		if (r != -ESTALE && r != -EBUSY)
			(void)spw_nofile_do(remove_unused, &spw_front.map);
		spw_seg_detach(&spw_front.map);
		return r;
	}
	spw_front.proc = proc;
	drainer = atomic_load(&spw_front.map.seg->drainer_pid);
	if (drainer && spw_mntns_differs(drainer))
		atomic_store(&spw_front.apart, true);
	atomic_fetch_add(&spw_front.map.seg->attached, 1);
	atomic_store_explicit(&spw_front.attached, true,
			      memory_order_release);
	return 0;
}

/* The filters of a process do not become fewer; of one that adds to them we
 * hear (confine.c). Under the lock of attaching. */
static int
check_calls(void)
{
	static bool checked;
	const char *call;
	char line[128];
	struct spw_text t;
	int r = checked ? 0 : spw_allowed(&call);

	checked = true;
	if (r == 0)
		return 0;
	spw_text_init(&t, line, sizeof(line));
	spw_text_fmt(&t, "the system call %s is forbidden; the program runs "
		     "without Spillway", call);
	decline(line, -r);
	return -ECANCELED;
}

/* Whether others may have bytes that are not home. */
static bool
is_anybody_there(void)
{
	char job[SPW_JOB_MAX + 8], path[SPW_SEG_PATH_MAX];
	struct stat st;

	spw_job_name(&config, environ, job, sizeof(job));
	return spw_seg_path(config.shm_dir, job, path, sizeof(path)) == 0 &&
	       spw_sys_fstatat(AT_FDCWD, path, &st, 0) == 0;
}

static _Atomic bool cut_off;

bool
spw_front_is_cut_off(void)
{
	return atomic_load(&cut_off);
}

/* The whole system has no open file left. Without the segment we would read
 * past what others wrote; such a need passes, or who opens a file is told. It
 * is waited for once. */
static bool
may_pass(int err, int64_t since)
{
	if (err != -ENFILE || spw_front_is_cut_off() ||
	    spw_now_ms() - since > PATIENCE_MS ||
	    !is_anybody_there())
		return false;
	spw_sys_sleep_us(1000);
	return true;
}

struct joining {
	enum need need;
	int r;
};

static void
join(void *arg)
{
	struct joining *j = arg;
	int64_t began = spw_now_ms();
	unsigned first = 0;
	bool again;			/* removed by the last to leave */

	j->r = check_calls();
	if (j->r < 0)
		return;
	do {
		j->r = find_segment(j->need, first);
		if (j->r == 0)
			j->r = settle_in();
		again = j->r == -ESTALE;
		if (j->r == -EBUSY && first++ < NAMES) {
			spw_front_say("who removes the job's segment does not "
				      "go on; another one is used", 0);
			again = true;
		}
	} while (again || may_pass(j->r, began));
}

static const char no_segment[] = "no segment; the program runs without Spillway";

static int
attach(enum need need)
{
	struct joining j = { need, 0 };

	if (atomic_load_explicit(&spw_front.attached, memory_order_acquire))
		return 0;
	if (!spw_front_is_on())
		return -ENODEV;
	spw_guard_enter();
	pthread_mutex_lock(&once);
	if (!atomic_load(&spw_front.attached) &&
	    !atomic_load(&spw_front.inert)) {
		spw_deep_call(join, &j);
		atomic_store(&cut_off, j.r == -ENFILE && is_anybody_there());
		if (j.r < 0 && !spw_front_is_cut_off() &&
		    (need != TO_LOOK || j.r != -ENOENT)) {
			atomic_store(&spw_front.inert, true);
			if (j.r != -ECANCELED)
				decline(no_segment, -j.r);
		}
	}
	pthread_mutex_unlock(&once);
	spw_guard_leave();
	return j.r ? j.r : atomic_load(&spw_front.inert) ? -ENODEV : 0;
}

int
spw_front_attach(bool writes)
{
	return attach(writes ? TO_WRITE : TO_READ);
}

/* Nothing a moment ago: a job does not make it and write in less. */
static bool
may_look(_Atomic int64_t *looked)
{
	int64_t now = spw_now_ns();

	if (!spw_front_is_on() || now - atomic_load(looked) < LOOK_NS)
		return false;
	atomic_store(looked, now);
	return true;
}

bool
spw_front_look(void)
{
	static _Atomic int64_t looked;

	if (spw_front_outside)
		return false;
	if (atomic_load_explicit(&spw_front.attached, memory_order_acquire))
		return true;
	return may_look(&looked) && attach(TO_LOOK) == 0;
}

struct spw_claims *
spw_front_claims(void)
{
	static _Atomic int64_t looked;
	struct spw_claims *known;

	if (atomic_load_explicit(&spw_front.attached, memory_order_acquire))
		return spw_front.map.claims;
	known = spw_front_is_on() ? spw_claims_mapped() : NULL;
	if (known || !may_look(&looked))
		return known;
	return spw_claims_open(config.shm_dir, false, NULL);
}

/* A thread that was cancelled in the middle of our work leaves its lane as
 * one that was killed: its beacon goes out, and others finish the work. */
static void
give_lane_back(void *unused)
{
	(void)unused;
	if (my_lane.lane && my_epoch == spw_front.epoch && !spw_guard.busy)
		spw_lane_release(&my_lane);
	my_lane.lane = NULL;
}

static struct spw_me *
claim_lane(void)
{
	spw_guard_enter();
	while (spw_lane_claim(&spw_front.map, spw_front.proc, &my_lane) < 0)
		spw_sys_sleep_us(1000);	/* thousands of threads at once */
	my_epoch = spw_front.epoch;
	(void)pthread_setspecific(lane_key, &my_lane);
	spw_guard_leave();
	return &my_lane;
}

struct spw_me *
spw_front_me(void)
{
	if (SPW_LIKELY(my_lane.lane && my_epoch == spw_front.epoch))
		return &my_lane;
	if (!atomic_load_explicit(&spw_front.attached,
				  memory_order_acquire) || spw_front_outside)
		return NULL;
	return claim_lane();
}

void
spw_front_forked(uint32_t child_proc)
{
	spw_front.epoch++;
	my_lane.lane = NULL;
	/* A thread that held it is not here. */
	once = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	if (child_proc == SPW_NONE)
		return;
	spw_front.proc = child_proc;
	spw_proc_settle_in(&spw_front.map, child_proc);
}

void
spw_front_stay_outside(void)
{
	spw_front_outside = true;
}

void
spw_front_withdraw(void)
{
	atomic_store(&spw_front.attached, false);
	spw_front.epoch++;
	my_lane.lane = NULL;		/* given back by its beacon */
}

int
spw_front_drainer_mode(void)
{
	return (int)config.drainer;
}

/* Descriptors of managed files that came over exec are the kernel's, and
 * nobody may cache those files while we hold them. */
static void
take_over_inherited(void)
{
	if (attach(TO_LOOK) < 0)
		return;
	for (int fd = 0; fd < 1024; fd++)
		spw_fdtab_inherited(fd);
}

static int
may_use(const char *dir)
{
	return (int)spw_syscall(SYS_faccessat, AT_FDCWD, (long)dir,
				W_OK | X_OK, 0, 0, 0);
}

/* Looked at before anything is opened, for a shell opens little itself. */
static bool
has_a_place(void)
{
	char ours[SPW_SEG_PATH_MAX];
	int r = may_use(config.shm_dir);

	if (r == 0 || (spw_seg_path(config.shm_dir, NULL, ours,
				    sizeof(ours)) == 0 && may_use(ours) == 0))
		return true;
	decline(no_segment, -r);
	return false;
}

__attribute__((constructor))
static void
begin(void)
{
	struct rlimit limit;

	spw_real_find_all();
	atomic_store(&was_told, secure_getenv(SPW_TOLD) != NULL);
	if (pthread_key_create(&lane_key, give_lane_back) ||
	    !read_settings() || !has_a_place()) {
		atomic_store(&spw_front.inert, true);
		is_begun = true;
		return;
	}
	is_begun = true;
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
	    limit.rlim_cur != RLIM_INFINITY)
		spw_front.fsize_limit = limit.rlim_cur;
	spw_gate_need_drainer = spw_agent_need;
	spw_gate_drain_here = spw_agent_drain_here;
	spw_guard_deliver = spw_signals_deliver;
	atomic_store(&spw_front.live, true);
	if (secure_getenv("SPILLWAY_HANDOVER"))
		take_over_inherited();
}
