/* SPDX-License-Identifier: BSD-3-Clause */
/* options.h -- the one table of settings */

#ifndef SPW_SHM_OPTIONS_H
#define SPW_SHM_OPTIONS_H

/*
 * One entry per setting feeds the struct's checks, the default, the flag
 * (--drain-delay), the variable (SPILLWAY_DRAIN_DELAY), the key in a file
 * (drain-delay =), `spillway config`, the help and the documentation test.
 *
 *	O(ID, name, type, field, default, low, high, words, shape, help)
 *
 * type   SPW_OPT_<type>, see conf.h
 * low, high   numbers, or nanoseconds for a duration
 * words  the choices, divided by |; the field holds the index
 * shape  what the help calls the value
 */
#define SPW_OPTIONS(O) \
	O(TIERS, "tiers", TIERS, tiers, "", 0, 0, "", "LIST", \
	  "places that hold bytes, fastest first (ram@auto)") \
	O(INCLUDE, "include", DIRS, include, "", 0, 0, "", "DIR", \
	  "accelerate files below DIR (the working directory)") \
	O(EXCLUDE, "exclude", DIRS, exclude, "", 0, 0, "", "DIR", \
	  "leave files below DIR alone") \
	O(RECEIPT, "receipt", PATH, receipt, "", 0, 0, "", "FILE", \
	  "write what the run did to FILE") \
	O(JOB, "job", NAME, job, "", 0, 0, "", "NAME", \
	  "programs of the same job share one segment") \
	O(SHM_DIR, "shm-dir", PATH, shm_dir, "/dev/shm", 0, 0, "", "DIR", \
	  "directory in memory that holds the segment") \
	O(DRAINER, "drainer", CHOICE, drainer, "auto", 0, 0, \
	  "auto|agent|thread", "WHO", \
	  "who moves the bytes: auto, agent or thread") \
	O(DRAIN_DELAY, "drain-delay", DURATION, drain_delay, "50ms", \
	  0, UINT64_C(60000000000), "", "TIME", \
	  "how long bytes may rest before they go home") \
	O(DRAIN_TIMEOUT, "drain-timeout", DURATION, drain_timeout, "none", \
	  0, SPW_DURATION_NONE, "", "TIME", \
	  "how long a run waits until all is home") \
	O(WORKERS, "workers", CHOICE, workers, "auto", 0, 0, \
	  "auto|none|1|2|4|8|16", "NUMBER", \
	  "threads of the drainer that pack and unpack") \
	O(DRAIN_MARGIN, "drain-margin", DURATION, drain_margin, "60s", \
	  0, UINT64_C(86400000000000), "", "TIME", \
	  "all is home this long before a batch job ends") \
	O(KILL_WAIT, "kill-wait", DURATION, kill_wait, "30s", \
	  0, UINT64_C(86400000000000), "", "TIME", \
	  "how long after SIGTERM a batch job is killed") \
	O(AT_EXIT, "at-exit", CHOICE, at_exit, "home", 0, 0, \
	  "home|agent|keep", "HOW", \
	  "when the program has ended: home, agent or keep") \
	O(WEIGHTS, "weights", WEIGHTS, weights, "balanced", 0, 0, "", "C,R,D", \
	  "what packing is for: async, archive, ...") \
	O(SEED, "seed", PATH, seed, "", 0, 0, "", "FILE", \
	  "what packing and tiers cost is kept in FILE") \
	O(VERBOSE, "verbose", NUMBER, verbose, "0", 0, 2, "", "LEVEL", \
	  "say more: 1 or 2; also -v, -vv") \
	O(QUIET, "quiet", BOOL, quiet, "no", 0, 0, "", "", \
	  "say nothing but errors; also -q") \
	O(STRICT, "strict", BOOL, strict, "no", 0, 0, "", "", \
	  "treat warnings as errors") \
	O(DISABLE, "disable", BOOL, disable, "no", 0, 0, "", "", \
	  "run the program without Spillway") \
	O(COLOR, "color", CHOICE, color, "auto", 0, 0, \
	  "auto|always|never", "WHEN", \
	  "colour messages: auto, always or never") \
	O(TILEDB_LIB, "tiledb-lib", PATH, tiledb_lib, "", 0, 0, "", "FILE", \
	  "the TileDB library to use") \
	O(CONFIG, "config", PATH, config, "", 0, 0, "", "FILE", \
	  "read settings from FILE as well")

/* Variables of our own processes among themselves: no settings, no typos. */
#define SPW_INTERNAL_VARIABLES \
	"SPILLWAY_HANDOVER", "SPILLWAY_FAILPOINT", "SPILLWAY_RUN_PIPE", \
	"SPILLWAY_STAGING", "SPILLWAY_TOLD", \
	"SPILLWAY_CHECK_LONG", "SPILLWAY_IO", "SPILLWAY_EMULATE_PMEM"

#endif
