#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recover-stalled.sh -- a tier alone has bytes of a dead job and does not
# answer, or fails: recover says so, ends with 5 and keeps them, and brings them
# home when the tier is well again

. tests/functions.sh
# Nobody can look at what a thread has that is stuck in a tier.
ASAN_OPTIONS+=:detect_leaks=0
slow_mount_at tier direct=1
slow_mount
mount=$scratch/slow tier=$scratch/tier
cd "$mount"

# left KIND: home takes nothing, so most of the file is below when all are
# killed.
left()
{
	local run program

	rm -f "$scratch"/go*
	"$spillway" run --tiers "ram@16M $1:$(place "$tier")@64M" \
		--include "$mount" -- "$top_builddir/tests/tier-steps" open:a \
		"set:$mount:enospc-after=0" write:a:1:0:24M:256K \
		"save:a:$scratch/a" "call:$scratch/go" \
		>"$scratch/out" 2>"$scratch/err" &
	run=$!
	at_end "kill -9 $run 2>/dev/null"
	until [ -e "$scratch/go" ]; do
		kill -0 $run || fail "$1: $(cat "$scratch/out" "$scratch/err")"
		sleep 0.1
	done
	program=$(pgrep -P $run)
	kill -9 $program $run || :
	wait $run || :
	while kill -0 $program 2>/dev/null; do
		sleep 0.05
	done
	>"$mount/.slowfs-control"
}

# refused KIND KNOB WORDS
refused()
{
	left $1
	echo "$2" >"$tier/.slowfs-control"
	fails_with 5 timeout 60 "$spillway" recover -y >"$scratch/out" 2>&1
	grep -q "tier $1, $tier.*: $3" "$scratch/out" ||
		fail "$1, $2: $(cat "$scratch/out")"
	fails_with 5 timeout 60 "$spillway" recover -y --json \
		>"$scratch/out" 2>/dev/null
	grep -q '"bytes_left": [1-9]' "$scratch/out" ||
		fail "$1, $2: $(cat "$scratch/out")"
	>"$tier/.slowfs-control"
	timeout 60 "$spillway" recover -y >"$scratch/out" 2>&1 ||
		fail "$1, $2: $? later: $(cat "$scratch/out")"
	same_bytes "$scratch/a" a
	[ -z "$(ls "$shm_dir"/spillway.*/*.seg 2>/dev/null)" ] ||
		fail "$1, $2: the segment is there"
	rm a
}

refused nvme 'stall=*' 'does not answer'
refused bb 'eio-read=*' 'Input/output error'
