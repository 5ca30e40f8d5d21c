#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-run-timeout.sh -- what is not home in time is said, kept and finished

. tests/functions.sh
export SPILLWAY_JOB=slow
slow_mount bandwidth=2000000 latency=1

cd "$scratch/slow"
head -c 8000000 /dev/urandom >"$scratch/data"
spilled_flags=(--drain-timeout 300ms)
fails_with 122 spilled dd if="$scratch/data" of=file bs=100000 2>"$scratch/err"
grep -q 'not home after --drain-timeout; an agent goes on' "$scratch/err" ||
	fail "$(cat "$scratch/err")"
grep -q "spillway drain --wait $SPILLWAY_JOB" "$scratch/err" ||
	fail "no command named: $(cat "$scratch/err")"
counter_above bytes_undrained 0
counter_is exit_status 122

# An agent goes on, when the run's last write is over; asking for it waits
# for it.
for ((i = 0; i < 200; i++)); do
	"$spillway" status --json "$SPILLWAY_JOB" >"$scratch/status"
	! grep -q '"drainer": "agent"' "$scratch/status" || break
	sleep 0.05
done
[ $i -lt 200 ] || fail "no agent: $(cat "$scratch/status")"
fails_with 5 "$spillway" drain --wait --timeout 1ms "$SPILLWAY_JOB" 2>/dev/null
"$spillway" drain "$SPILLWAY_JOB" >"$scratch/out"
grep -q 'asked for' "$scratch/out" || fail "$(cat "$scratch/out")"
"$spillway" drain --wait --timeout 30s "$SPILLWAY_JOB" >"$scratch/out"
grep -q ', 0 B left' "$scratch/out" || fail "$(cat "$scratch/out")"
same_bytes file "$scratch/data"

# Home and deserted, the agent leaves and takes the segment with it.
for ((i = 0; i < 200; i++)); do
	compgen -G "$shm_dir/spillway.*/*.seg" >/dev/null || break
	sleep 0.05
done
! compgen -G "$shm_dir/spillway.*/*.seg" >/dev/null ||
	fail "the agent does not leave"

# A program that failed keeps its own status.
fails_with 4 spilled sh -c 'dd if="$0" of=file2 bs=100000 status=none
	exit 4' "$scratch/data" 2>/dev/null
"$spillway" drain --wait "$SPILLWAY_JOB" >/dev/null
same_bytes file2 "$scratch/data"
