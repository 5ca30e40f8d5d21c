/* SPDX-License-Identifier: BSD-3-Clause */
/* crash-writers.c -- kill -9 at random instants: writers, drainer, everybody */

/*
 * crash-writers DIR KILLS [SEED [BELOW]]: segments are made below DIR, files in
 * the working directory, and a tier in BELOW. Processes live over many rounds; a round lets them run
 * for a moment, kills some of them, lets the rest come to a stop, has
 * everything brought home by whoever drains then, and compares with the
 * ledger. Each EPOCH rounds begin with new files and a new segment. It ends
 * when so many processes were killed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shm/sys.h"
#include "shm/util.h"
#include "tests/crash-cast.h"

enum {
	EPOCH = 40, RECOVER_EACH = 4,
	MOMENT = 2500, MOMENT_BELOW = 40000,	/* us that a round lasts */
};

enum kill_kind { ONE_WRITER, ALL_WRITERS, DRAINER, EVERYBODY, KILL_KINDS };

static const char *const kind_names[KILL_KINDS] = {
	"one writer", "all writers", "the drainer", "everybody",
};

static unsigned rounds[KILL_KINDS];

static void
strike(enum kill_kind kind)
{
	switch (kind) {
	case ONE_WRITER:
		cast_kill(&cast_writer[crash_random(&cast_rng) %
				       CRASH_WRITERS]);
		break;
	case DRAINER:
		cast_kill(&cast_drainer);
		break;
	default:
		cast_kill_all(kind == EVERYBODY);
	}
	rounds[kind]++;
}

static void
play_round(unsigned long round)
{
	enum kill_kind kind = crash_random(&cast_rng) % KILL_KINDS;

	for (int i = 0; i < CRASH_WRITERS; i++)
		cast_engage(i, NULL);
	cast_hire(NULL);
	cast_go();
	spw_sys_sleep_us((long)(100 + crash_random(&cast_rng) %
				(cast_below ? MOMENT_BELOW : MOMENT)));
	strike(kind);
	if (kind == ONE_WRITER || kind == DRAINER)
		spw_sys_sleep_us((long)(crash_random(&cast_rng) % 800));
	if (kind == EVERYBODY && rounds[EVERYBODY] % RECOVER_EACH == 0) {
		cast_recover();
		cast_check(round);
		cast_recover();
		cast_check(round);
	}
	cast_hire(NULL);
	cast_rest();
	cast_bring_home();
	cast_check(round);
}

static uint64_t
count_writes(void)
{
	uint64_t n = 0;

	for (int i = 0; i < CRASH_WRITERS; i++)
		n += cast_ledger->writer[i].ops;
	return n;
}

int
main(int argc, char **argv)
{
	unsigned long kills = argc > 2 ? strtoul(argv[2], NULL, 0) : 100;
	unsigned long round = 0;
	uint64_t writes = 0;
	int64_t since = spw_now_ms();

	if (argc < 2)
		return 2;
	cast_rng = argc > 3 ? strtoull(argv[3], NULL, 0)
			    : (uint64_t)getpid() << 32 ^ (uint64_t)since;
	cast_below = argc > 4 ? argv[4] : NULL;
	printf("seed %lu\n", (unsigned long)cast_rng);
	cast_ledger = crash_ledger_new();
	for (int i = 0; i < CRASH_WRITERS; i++)
		cast_ledger->writer[i].rng = crash_random(&cast_rng);
	while (cast_kills < kills) {
		cast_begin(argv[1]);
		for (int i = 0; i < EPOCH && cast_kills < kills; i++)
			play_round(round++);
		writes += count_writes();
		cast_end();
	}
	printf("%lu rounds, %u processes killed, %lu writes, %ld ms; killed "
	       "were", round, cast_kills, (unsigned long)writes,
	       (long)(spw_now_ms() - since));
	for (int i = 0; i < KILL_KINDS; i++)
		printf("%s %s %u times", i ? "," : "", kind_names[i],
		       rounds[i]);
	printf("\n");
	if (!cast_below)
		return 0;
	printf("%lu bytes down, %lu up\n", (unsigned long)cast_down,
	       (unsigned long)cast_up);
	return !cast_down || !cast_up;	/* it was for nothing */
}
