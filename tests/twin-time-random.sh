#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-time-random.sh -- random changes, by several processes: times never go back
#
# A seed of its own for every run, which is printed with a failure;
# SPILLWAY_CHECK_SEED repeats one.

. tests/functions.sh
checked_front

seed=${SPILLWAY_CHECK_SEED:-$(date +%s)}
rounds=1
[ "${SPILLWAY_CHECK_LONG:-}" != 1 ] || rounds=40

bare()
{
	LD_PRELOAD=$preload SPILLWAY_INCLUDE=$scratch/home \
		SPILLWAY_JOB=$name.$seed "$@"
}

# at_home: name, mtime and size of every file.
at_home()
{
	find . -type f -printf '%f %T@ %s\n' | sed 's/\(\.[0-9]\{9\}\)0* /\1 /' |
		sort
}

# one NAME STEPS COMMAND...: in a directory of its own; what was shown last is
# there in the end.
one()
{
	local name=$1 steps=$2

	shift 2
	mkdir "$name.$seed"
	cd "$name.$seed"
	"$@" timeout 120 "$top_builddir/tests/time-random" "$seed" "$steps" \
		"$scratch/shown" || fail "$name, seed $seed"
	for ((i = 0; i < 200; i++)); do
		! at_home | cmp -s - "$scratch/shown" || break
		sleep 0.1
	done
	at_home | diff - "$scratch/shown" || fail "$name, seed $seed: at home"
	cd ..
}

for ((round = 0; round < rounds; round++)); do
	one plain 3000 plain
	for delay in 10s 1ms; do
		spilled_flags=(--drain-delay $delay)
		one run-$delay 3000 spilled
		counter_above writes_absorbed 100
	done
	export SPILLWAY_DRAIN_DELAY=1ms
	one agent 3000 bare
	# The library of this sanitizer would come late, with the drainer.
	[[ ,$sanitizers, = *,thread,* ]] ||
		SPILLWAY_DRAINER=thread one thread 3000 bare
	seed=$((seed + 1))
	# Times when an agent starts: bytes are there before it.
	for i in 1 2 3 4 5 6 7 8; do
		one start 60 bare
		seed=$((seed + 1))
	done
	unset SPILLWAY_DRAIN_DELAY
done
