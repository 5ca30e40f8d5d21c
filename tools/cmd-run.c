/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd-run.c -- spillway run: a program under Spillway, from start to home */

/*
 * The first thread waits for the program and for signals; a keeper drains.
 * When the program has ended, what is dirty is asked for and waited for; then
 * the segment is removed, or left to whoever still needs it.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shm/allowed.h"
#include "shm/files.h"
#include "shm/gate.h"
#include "shm/machine.h"
#include "shm/proc.h"
#include "shm/sys.h"
#include "shm/util.h"
#include "tools/answers.h"
#include "tools/args.h"
#include "tools/child.h"
#include "tools/childenv.h"
#include "tools/commands.h"
#include "tools/handover.h"
#include "tools/homing.h"
#include "tools/jobname.h"
#include "tools/join.h"
#include "tools/keeper.h"
#include "tools/keeping.h"
#include "tools/levels.h"
#include "tools/library.h"
#include "tools/lost.h"
#include "tools/program.h"
#include "tools/receipt.h"
#include "tools/segments.h"

enum {
	NOT_HOME = 122, FAILED = 125, NOT_EXECUTABLE = 126, NOT_FOUND = 127,
	FIRST_LOOK_MS = 100, LAST_LOOK_MS = 1000,	/* for the library */
	GIVE_UP_MS = 20000,
	LEAVE_MS = 10000, HASTE_MS = 1000,
	PART_MS = 5000,			/* to leave, before we are killed */
	STRAGGLE_MS = 500, SLICE_MS = 5,
};

static const char usage[] =
	"usage: spillway run [OPTION]... [--] PROGRAM [ARGUMENT]...\n"
	"\n"
	"Run a program whose file I/O goes through shared memory and comes\n"
	"home in the background. Ends when the program has ended and all it\n"
	"wrote is home, with the program's exit status.\n"
	"\n"
	"  spillway run -- python3 train.py\n"
	"  mpirun -n 8 spillway run --tiers ram@4G -- ./solver input.nml\n"
	"  spillway run --receipt io.json --exclude /tmp -- make\n"
	"\n"
	"  --help                this text\n";

struct run {
	struct spw_args args;
	struct spw_tierlist tiers;
	struct spw_child child;
	struct spw_joined joined;
	struct spw_keeper keeper;
	char path[PATH_MAX];		/* of the program */
	char library[PATH_MAX];
	char **env;			/* the program's */
	double began;
	bool speaks;			/* for the whole job */
	bool prepared;			/* child is */
	bool checked;			/* whether it has the library */
	uint32_t told;			/* losses */
	bool hurried;			/* the drainer was told of SIGTERM */
	bool safe;			/* what is not home is, in a tier */
};

static int
say(const struct run *r, const struct spw_diag *d, int status)
{
	if (d->severity == SPW_ERROR || (r->speaks && !r->args.cfg.quiet))
		spw_diag_print(d, r->args.color, STDERR_FILENO);
	return status;
}

static int
blame_program(const struct run *r, const char *name, int err)
{
	struct spw_diag d;

	spw_diag_begin(&d, SPW_ERROR, SPW_E177);
	spw_diag_subject(&d, "%e", name);
	spw_diag_cause(&d, err == -ENOENT ? "no such program"
		       : "cannot be executed: %s", spw_diag_errno(-err));
	return say(r, &d, err == -ENOENT ? NOT_FOUND : NOT_EXECUTABLE);
}

static int
check_program(struct run *r)
{
	struct spw_diag d;
	const char *name = r->args.rest[0];
	int err;

	if (!name) {
		spw_diag_begin(&d, SPW_ERROR, SPW_NO_CODE);
		spw_diag_subject(&d, "run");
		spw_diag_cause(&d, "no program is named");
		spw_diag_hint(&d, "spillway run -- PROGRAM [ARGUMENT]...");
		return say(r, &d, FAILED);
	}
	err = spw_program_find(name, r->path, sizeof(r->path));
	if (err < 0)
		return blame_program(r, name, err);
	if (r->args.cfg.disable)
		return -1;
	err = spw_program_check(r->path, &d);
	if (d.severity != SPW_SILENT)
		say(r, &d, 0);
	return err < 0 || (d.severity == SPW_WARNING && r->args.cfg.strict)
	       ? FAILED : -1;
}

static void
write_receipt(const struct run *r, const struct spw_receipt *receipt)
{
	const char *path = r->args.cfg.receipt;
	struct spw_diag d;
	int err;

	if (!*path)
		return;
	err = spw_receipt_write(receipt, path);
	if (!err)
		return;
	spw_diag_begin(&d, SPW_WARNING, SPW_W178);
	spw_diag_subject(&d, "receipt %e", path);
	spw_diag_cause(&d, "cannot be written: %s", spw_diag_errno(-err));
	spw_diag_print(&d, r->args.color, STDERR_FILENO);
}

/* For who wants a receipt all the same. Negative: it cannot be watched. */
static int
run_watched(struct run *r, char **envp)
{
	struct spw_receipt receipt = {
		.drainer = spw_segment_host_name(SPW_HOST_NONE),
	};
	int err = r->prepared ? 0 : spw_child_prepare(&r->child);

	if (err < 0)
		return err;
	r->prepared = true;
	if (r->child.pid)
		return -ECHILD;		/* it could not be a child before */
	err = spw_child_start(&r->child, r->path, r->args.rest, envp);
	if (err < 0)
		return err;
	while (!r->child.ended)
		(void)spw_child_step(&r->child, 1000000);
	spw_jobname_choose(&r->args.cfg, envp);
	receipt.job = r->args.cfg.job;
	receipt.exit_status = r->child.status;
	receipt.seconds = spw_show_clock() - r->began;
	write_receipt(r, &receipt);
	return receipt.exit_status;
}

static int
run_plainly(struct run *r, char **envp)
{
	int status = *r->args.cfg.receipt ? run_watched(r, envp) : -1;

	if (status >= 0)
		return status;
	if (r->prepared)
		spw_child_restore(&r->child);
	execvpe(r->path, r->args.rest, envp);
	return blame_program(r, r->args.rest[0], -errno);
}

/* It may well do without what we lack: that is d's to say, in a line. */
static int
run_without(struct run *r, char **envp, struct spw_diag *d)
{
	d->severity = SPW_WARNING;
	d->code = SPW_W153;
	d->hint[0] = '\0';
	spw_diag_cause(d, "; the program runs without Spillway");
	say(r, d, 0);
	if (r->args.cfg.strict)
		return FAILED;
	return run_plainly(r, envp);
}

static int
run_for_want(struct run *r, char **envp, const char *what, int err)
{
	struct spw_diag d;

	spw_diag_begin(&d, SPW_WARNING, SPW_W153);
	spw_diag_subject(&d, "%s", what);
	spw_diag_cause(&d, "%s", spw_diag_errno(-err));
	return run_without(r, envp, &d);
}

/* Where a filter forbids what we need, the loader looks for the program. */
static int
check_calls(struct run *r, char **envp)
{
	const char *call, *name = r->args.rest[0];
	char what[64];
	int err = spw_allowed(&call);

	if (!err || strlen(name) >= sizeof(r->path))
		return -1;
	strcpy(r->path, name);
	snprintf(what, sizeof(what), "system call %s", call);
	return run_for_want(r, envp, what, err);
}

static bool
is_asked_for(const struct spw_config *cfg, unsigned option)
{
	return cfg->origin[option].from != SPW_FROM_BUILTIN;
}

/* No room for the smallest segment. */
static bool
is_full(const char *shm_dir)
{
	uint64_t space;

	if (spw_machine_space(shm_dir, &space) < 0 || space >= SPW_RAM_MIN)
		return false;
	errno = ENOSPC;
	return true;
}

/* What a segment needs and this machine does not have, with errno. */
static const char *
find_lack(const struct spw_config *cfg)
{
	if (!is_asked_for(cfg, SPW_OPTION_SHM_DIR) &&
	    (access(cfg->shm_dir, W_OK | X_OK) < 0 ||
	     (!is_asked_for(cfg, SPW_OPTION_TIERS) && is_full(cfg->shm_dir))))
		return cfg->shm_dir;
	return access("/proc/self/fd", X_OK) < 0 ? "/proc/self/fd" : NULL;
}

/* Some containers have no shared memory, or none for us, or others filled it.
 * That keeps nobody from working who did not say where it is. */
static int
check_machine(struct run *r, char **envp)
{
	const struct spw_config *cfg = &r->args.cfg;
	const char *lack = find_lack(cfg);
	struct spw_diag d;

	if (!lack)
		return -1;
	spw_diag_begin(&d, SPW_WARNING, SPW_W153);
	spw_diag_subject(&d, "%e", lack);
	spw_diag_cause(&d, "%s", spw_diag_errno(errno));
	return run_without(r, envp, &d);
}

static void
tell_deaf(void *run, const struct spw_diag *d)
{
	say(run, d, 0);
}

/* A place that stalls is none of the program's; it runs without. */
static int
check_tiers(struct run *r, char **envp)
{
	struct spw_diag d = { 0 };
	int err = spw_config_tiers(&r->args.cfg, envp, &r->tiers, &d);

	if (!err && spw_tierspec_sift(&r->tiers, spw_answers_not, tell_deaf,
				      r) && r->args.cfg.strict)
		return FAILED;
	if (!err)
		err = spw_config_check(&r->args.cfg, &r->tiers, &d);
	if (err < 0)
		return say(r, &d, FAILED);
	if (d.severity == SPW_WARNING)
		say(r, &d, 0);
	return -1;
}

static int
find_library(struct run *r)
{
	char real[PATH_MAX], dir[SPW_SEG_PATH_MAX];
	int err = spw_library_find(real, sizeof(real));
	struct spw_diag d;

	if (!err)
		err = spw_seg_path(r->args.cfg.shm_dir, NULL, dir,
				   sizeof(dir));
	if (!err)
		err = spw_childenv_library(real, dir, r->library,
					   sizeof(r->library));
	if (!err)
		return -1;
	spw_diag_begin(&d, SPW_ERROR, SPW_E176);
	spw_diag_subject(&d, "libspillway.so");
	if (err == -ENOENT)
		spw_diag_cause(&d, "is neither beside this command nor in %e",
			       SPW_LIBDIR);
	else
		spw_diag_cause(&d, "cannot be preloaded from %q: %s", real,
			       spw_diag_errno(-err));
	spw_diag_hint(&d, "build or install Spillway again, in a path "
		      "without blanks and colons");
	return say(r, &d, FAILED);
}

/* What the planner lacks: it does without. */
static void
tell_notes(const struct run *r)
{
	struct spw_diag d;

	for (unsigned i = 0; i < 2 && !r->args.cfg.quiet; i++) {
		if (!r->keeper.note[i][0])
			continue;
		spw_diag_begin(&d, SPW_WARNING, SPW_W179);
		spw_diag_subject(&d, "planner");
		spw_diag_cause(&d, "%s", r->keeper.note[i]);
		spw_diag_print(&d, r->args.color, STDERR_FILENO);
	}
}

static int
enter_segment(struct run *r, char **envp)
{
	struct spw_config *cfg = &r->args.cfg;
	struct spw_diag d;
	int err;

	spw_jobname_choose(cfg, envp);
	if (r->speaks && !cfg->quiet)
		spw_join_report_dead(cfg, r->args.color);
	if (spw_join(cfg, &r->tiers, &r->joined, &d) < 0)
		return d.severity == SPW_ERROR ? say(r, &d, FAILED)
		       : run_without(r, envp, &d);
	err = spw_keeper_start(&r->keeper, &r->joined.map, SPW_HOST_RUN);
	if (!err) {
		tell_notes(r);
		return -1;
	}
	spw_proc_disown(&r->joined.map, r->joined.proc);
	(void)spw_segment_remove(&r->joined.map, NULL);	/* if we made it */
	spw_diag_begin(&d, SPW_WARNING, SPW_W153);
	spw_diag_subject(&d, "segment %e", cfg->job);
	spw_diag_cause(&d, "cannot drain it: %s", spw_diag_errno(-err));
	return run_without(r, envp, &d);
}

/* What the drainer found when it opened the tiers. */
static int
look_at_tiers(struct run *r)
{
	unsigned n = spw_levels_warn(&r->joined.map, r->args.color,
				     !r->speaks || r->args.cfg.quiet);

	return n && r->args.cfg.strict ? FAILED : -1;
}

static int
start_program(struct run *r, char **envp)
{
	r->env = spw_childenv_make(envp, &r->args.cfg, r->library);
	if (!r->env)
		return -ENOMEM;
	return spw_child_start(&r->child, r->path, r->args.rest, r->env);
}

/* Who could not be started as a child, or with what we add to its environment,
 * may be the program of this process. */
static int
judge_failure(struct run *r, char **envp, int err)
{
	if (r->child.pid > 0 && err != -E2BIG)
		return blame_program(r, r->args.rest[0], err);
	return run_for_want(r, envp, "a process for the program", err);
}

/* The loader only grumbles when it cannot find a library to preload, for
 * example inside a container. */
static void
look_for_library(struct run *r)
{
	double ms = (spw_show_clock() - r->began) * 1000;
	struct spw_diag d;
	int has;

	if (r->checked || ms < FIRST_LOOK_MS || r->child.ended)
		return;
	has = spw_child_has_library(&r->child);
	r->checked = has > 0 || ms > GIVE_UP_MS;
	if (has || ms < LAST_LOOK_MS)
		return;
	r->checked = true;
	spw_diag_begin(&d, SPW_WARNING, SPW_W173);
	spw_diag_subject(&d, "%e", r->args.rest[0]);
	spw_diag_cause(&d, "runs without libspillway");
	spw_diag_hint(&d, "inside a container bind %e and set "
		      "APPTAINERENV_LD_PRELOAD", r->library);
	say(r, &d, 0);
}

/* When we must be gone, after SIGTERM; ms, negative: not known. A program
 * that was told to end, and did not, was not meant to. */
static int64_t
last_moment(const struct run *r)
{
	int64_t wait = (int64_t)(r->args.cfg.kill_wait / 1000000);

	if (!r->child.told || r->child.told + wait < spw_now_ms())
		return -1;
	return r->child.told + wait - SPW_MIN(PART_MS, wait / 2);
}

/* SIGTERM foretells the end: nothing rests from now on, and what is there is
 * made safe, whatever time the program takes. */
static void
heed_term(struct run *r)
{
	struct spw_map *map = &r->joined.map;

	if (r->hurried || last_moment(r) < 0)
		return;
	r->hurried = true;
	atomic_store(&map->seg->hurry_until, r->child.told +
		     (int64_t)(r->args.cfg.kill_wait / 1000000));
	(void)spw_homing_save(map);
}

/* Once each, and as long as somebody can do something about it. */
static void
tell_losses(struct run *r)
{
	(void)spw_lost_tell(&r->joined.map, r->args.color, &r->told);
}

static void
wait_for_program(struct run *r)
{
	while (!r->child.ended) {
		spw_child_step(&r->child, r->checked ? 1000000 : 100000);
		look_for_library(r);
		heed_term(r);
		tell_losses(r);
	}
}

/* Slurm may kill without a word when the time of the job is over. */
static bool
is_end_near(const struct run *r)
{
	const struct spw_seg_fixed *fixed = &r->joined.map.fixed;

	return fixed->ends && spw_file_time() / 1000000 >
	       fixed->ends / 1000000 - (int64_t)fixed->margin_ms;
}

/* What cannot be home in time is to be found again. */
static void
heed_end(struct run *r, struct spw_homing *h)
{
	int64_t last = last_moment(r);

	if (last >= 0 && (h->deadline < 0 || last < h->deadline))
		h->deadline = last;
	if (last >= 0 || is_end_near(r))
		spw_homing_secure(h);
}

/* 0: home; negative: why not. */
static int
wait_for_home(struct run *r)
{
	const struct spw_config *cfg = &r->args.cfg;
	struct spw_homing h;
	char what[SPW_JOB_MAX + 16];
	int status;

	snprintf(what, sizeof(what), "drain %s", cfg->job);
	status = spw_homing_begin(&h, &r->joined.map, what,
			cfg->drain_timeout == SPW_DURATION_NONE ? -1
			: (int64_t)(cfg->drain_timeout / 1000000),
			false, cfg->quiet || !r->speaks);
	while (status == 0) {
		int sig;

		heed_end(r, &h);
		status = spw_homing_step(&h);
		if (status)
			break;
		sig = spw_child_step(&r->child, spw_homing_pause(&h));
		/* SIGTERM and SIGHUP foretell the end: there is nothing
		 * better to do than to go on for as long as we can. */
		if (sig == SIGINT || sig == SIGQUIT)
			status = -EINTR;
	}
	r->safe = spw_homing_is_safe(&h);
	spw_homing_end(&h);
	return status < 0 ? status : 0;
}

/* Before the rest goes home: what will be kept is safe in the tiers, and who
 * is not is known. */
static void
prepare_keeping(struct run *r)
{
	struct spw_map *map = &r->joined.map;
	uint32_t ticket;
	int64_t last = last_moment(r);

	if (!map->fixed.keep)
		return;
	ticket = spw_homing_save(map);
	while ((int32_t)(atomic_load(&map->seg->save_done) - ticket) < 0 &&
	       (last < 0 || spw_now_ms() < last)) {
		int sig = spw_child_step(&r->child, SLICE_MS * 1000);

		last = last_moment(r);
		if (sig == SIGINT || sig == SIGQUIT)
			return;
		spw_gate_hurry(map);
	}
	if (r->speaks && !r->args.cfg.quiet)
		spw_keeping_report(map, r->args.color, r->args.cfg.verbose);
}

static void
report_left(const struct run *r, const struct spw_receipt *receipt,
	    enum spw_handover how, pid_t agent, int why)
{
	char files[SPW_SHOW_MAX];
	struct spw_diag d;

	spw_diag_begin(&d, SPW_WARNING, SPW_W162);
	spw_diag_subject(&d, "job %e", r->args.cfg.job);
	spw_diag_cause(&d, "%z in %s not home", receipt->left.bytes,
		       spw_show_count(receipt->left.files, "file", files));
	if (receipt->left.err)
		spw_diag_cause(&d, ": %s", spw_diag_errno(receipt->left.err));
	else if (why == -ETIMEDOUT)
		spw_diag_cause(&d, r->child.told ? " before the job is killed"
			       : " after --drain-timeout");
	if (r->safe)
		spw_diag_cause(&d, "; safe in tiers");
	if (how == SPW_AGENT_STARTED)
		spw_diag_cause(&d, "; an agent goes on (pid %u)",
			       (unsigned)agent);
	spw_diag_hint(&d, how == SPW_LEFT_ALONE ? "spillway recover %e"
		      : "spillway drain --wait %e", r->args.cfg.job);
	spw_diag_print(&d, r->args.color, STDERR_FILENO);
}

static bool
wants_summary(const struct run *r)
{
	const struct spw_config *cfg = &r->args.cfg;

	return r->speaks && !cfg->quiet &&
	       (cfg->verbose || isatty(STDERR_FILENO));
}

/* Leaves the segment to nobody, to another run, or to an agent. */
static enum spw_handover
leave_segment(struct run *r, bool in_haste, pid_t *ret_agent)
{
	struct spw_map *map = &r->joined.map;

	spw_proc_disown(map, r->joined.proc);
	switch (spw_keeper_leave(&r->keeper, true, in_haste ? HASTE_MS
							    : LEAVE_MS)) {
	case 1:
		return SPW_REMOVED;
	case 0:
		return spw_hand_over(map, &r->child, ret_agent);
	default:
		return spw_hand_over_at_exit(map, &r->child, ret_agent);
	}
}

/* As it was asked for: at-exit = agent. */
static void
report_agent(const struct run *r, const struct spw_receipt *receipt,
	     pid_t agent)
{
	char bytes[SPW_SHOW_MAX], files[SPW_SHOW_MAX];

	fprintf(stderr, "spillway: %s in %s not home yet, ",
		spw_show_size(receipt->left.bytes, bytes),
		spw_show_count(receipt->left.files, "file", files));
	if (agent)
		fprintf(stderr, "agent %d goes on: ", (int)agent);
	fprintf(stderr, "spillway drain --wait %s\n", r->args.cfg.job);
}

static void
report_kept(const struct spw_receipt *receipt)
{
	char bytes[SPW_SHOW_MAX], files[SPW_SHOW_MAX];

	fprintf(stderr, "spillway: kept %s of %s in tiers, home has stubs: "
		"spillway stage out\n",
		spw_show_count(receipt->keeping.files, "file", files),
		spw_show_size(receipt->keeping.bytes, bytes));
}

static bool
has_programs(const struct spw_map *map)
{
	struct spw_segment_folk folk;

	spw_segment_count(map, &folk);
	return folk.programs;
}

static void
report(struct run *r, const struct spw_receipt *receipt,
       enum spw_handover how, pid_t agent, int why)
{
	if (wants_summary(r) || why < 0)
		spw_receipt_print(receipt);
	if (receipt->keeping.files && r->speaks && !r->args.cfg.quiet)
		report_kept(receipt);
	if (why < 0)
		report_left(r, receipt, how, agent, why);
	else if (receipt->left.bytes && r->speaks && !r->args.cfg.quiet)
		report_agent(r, receipt, agent);
	else if (how == SPW_AGENT_STARTED && r->speaks && !r->args.cfg.quiet)
		fprintf(stderr, has_programs(&r->joined.map)
			? "spillway: processes of job %s live on; agent %d "
			  "drains for them\n"
			: "spillway: the homes of job %s are not durable yet; "
			  "agent %d goes on\n", r->args.cfg.job, (int)agent);
	write_receipt(r, receipt);
}

/* Helpers of a program notice its end by a closed pipe and end as well, a
 * moment later: Python's forkserver, gpg-agent, make's jobs. An agent for
 * them would be started for nothing. */
static void
wait_for_stragglers(const struct spw_map *map)
{
	struct spw_segment_folk folk;

	for (int ms = 0; ms < STRAGGLE_MS; ms += SLICE_MS) {
		spw_segment_count(map, &folk);
		if (!folk.programs || folk.runs > 1)	/* one is us */
			return;
		spw_sys_sleep_us(SLICE_MS * 1000);
	}
}

/* From the program's end to ours. */
static int
conclude(struct run *r)
{
	struct spw_map *map = &r->joined.map;
	struct spw_receipt receipt = {
		.job = r->args.cfg.job, .exit_status = r->child.status,
	};
	bool leaves = r->args.cfg.at_exit == SPW_AT_EXIT_AGENT;
	enum spw_handover how;
	pid_t agent = 0;
	int why;

	wait_for_stragglers(map);
	if (!leaves)
		prepare_keeping(r);
	why = leaves ? 0 : wait_for_home(r);
	receipt.drainer = spw_segment_host_name(
		atomic_load(&map->seg->drainer_host));
	if (why < 0)
		tell_losses(r);
	how = leave_segment(r, leaves || why < 0, &agent);
	if (leaves && how == SPW_LEFT_ALONE)
		why = -ECHILD;		/* no agent can be had */
	spw_receipt_fill(map, &receipt);
	spw_keeping_count(map, &receipt.keeping);
	receipt.safe = r->safe;
	receipt.seconds = spw_show_clock() - r->began;
	if (!receipt.left.bytes)
		why = 0;		/* it came home while we left */
	else if (why == 0 && r->args.cfg.at_exit == SPW_AT_EXIT_KEEP &&
		 how != SPW_TAKEN_OVER && !has_programs(map))
		why = -EBUSY;		/* it could not be kept */
	if (why < 0 && receipt.exit_status == 0)
		receipt.exit_status = NOT_HOME;
	report(r, &receipt, how, agent, why);
	return receipt.exit_status;
}

static int
start_all(struct run *r, char **envp)
{
	int err = 0, status = check_tiers(r, envp);

	if (status < 0)
		status = enter_segment(r, envp);
	if (status >= 0)
		return status;
	status = look_at_tiers(r);
	if (status < 0)
		status = find_library(r);
	if (status < 0) {
		err = start_program(r, envp);
		if (!err)
			return -1;
	}
	spw_proc_disown(&r->joined.map, r->joined.proc);
	/* What it had open may have been in the way. */
	if (spw_keeper_leave(&r->keeper, true, LEAVE_MS) == 0)
		(void)spw_segment_remove(&r->joined.map, NULL);
	return err ? judge_failure(r, envp, err) : status;
}

int
spw_cmd_run(int argc, char **argv, char **envp)
{
	static const struct spw_switch own[] = { { NULL, NULL, NULL } };
	static const struct spw_command command = {
		.name = "run", .usage = usage, .own = own,
		.settings = SPW_SETTINGS_ALL, .runs_program = true,
		.usage_status = FAILED,
	};
	static struct run r;
	int status = spw_args_read(&command, argv, envp, &r.args);

	(void)argc;
	if (status >= 0)
		return status;
	r.began = spw_show_clock();
	r.speaks = spw_jobname_may_speak();
	if (r.args.rest[0] && !r.args.cfg.disable)
		status = check_calls(&r, envp);
	if (status < 0)
		status = check_program(&r);
	if (status >= 0)
		return status;
	if (r.args.cfg.disable)
		return run_plainly(&r, envp);
	status = check_machine(&r, envp);
	if (status >= 0)
		return status;
	status = spw_child_prepare(&r.child);
	r.prepared = true;
	if (status < 0)
		return run_for_want(&r, envp, "a pipe to the program", status);
	status = start_all(&r, envp);
	if (status >= 0)
		return status;
	wait_for_program(&r);
	return conclude(&r);
}
