#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-family-thread.sh -- of processes that come and go, each with the drainer
# as a thread, the last one leaves no segment

. tests/functions.sh
without_sanitizer thread "its library would come late, with the drainer"
# The leak checker of a sanitizer does not survive the thread in here.
export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
export SPILLWAY_DRAINER=thread SPILLWAY_DRAIN_DELAY=20ms
export SPILLWAY_INCLUDE=$PWD

seeds=20
[ "${SPILLWAY_CHECK_LONG:-0}" != 1 ] || seeds=3000
for ((seed = 1; seed <= seeds; seed++)); do
	rm -f f?
	LD_PRELOAD=$preload timeout 60 "$top_builddir/tests/family" $seed 60 \
		2>err | cat || fail "seed $seed: ended with $?"
	[ ! -s err ] || fail "seed $seed: $(cat err)"
	! compgen -G "$shm_dir/spillway.*/*.seg" ||
		fail "seed $seed: a segment is left"
done
