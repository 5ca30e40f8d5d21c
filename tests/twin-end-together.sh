#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-end-together.sh -- of programs that end at once one removes the segment
#
# Each has a drainer of its own, a thread; none of them may take the others,
# who are about to end, for somebody who will.

. tests/functions.sh
without_sanitizer thread "its library would come late, with the drainer"

export SPILLWAY_INCLUDE=$PWD SPILLWAY_DRAINER=thread
mkfifo ready go
exec 4<>go 5<>ready
left=0
for round in {1..40}; do
	for i in 1 2 3; do
		LD_PRELOAD=$preload bash -c 'echo "of $1" >f$0
			echo >&5
			read -u 4' $i $round &
	done
	for i in 1 2 3; do
		read -t 60 -u 5 || fail "round $round: not all began"
	done
	printf '\n\n\n' >&4
	wait
	for i in 1 2 3; do
		[ "$(cat f$i)" = "of $round" ] || fail "round $round: f$i"
	done
	! compgen -G "$shm_dir/spillway.*/*.seg" >/dev/null ||
		left=$((left + 1))
done
[ $left = 0 ] || fail "a segment was left after $left of 40 rounds"
