#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-full-home.sh -- a full home is named everywhere, and costs time, not data

. tests/functions.sh
export SPILLWAY_JOB=full
slow_mount enospc-after=100000

cd "$scratch/slow"
head -c 400000 /dev/urandom >"$scratch/data"
# Nothing goes home before dd has written it all.
spilled_flags=(--drain-timeout 500ms --drain-delay 10s)
fails_with 122 spilled sh -c \
	'dd if="$0" of=file bs=10000 status=none || :' "$scratch/data" \
	2>"$scratch/err"
grep -q 'not home: No space left on device' "$scratch/err" ||
	fail "$(cat "$scratch/err")"
counter_above bytes_undrained 0
grep -q '"error": "No space left on device"' "$receipt" ||
	fail "no error in the receipt"

"$spillway" status >"$scratch/out"
grep -q '^full .*No space left on device' "$scratch/out" ||
	fail "$(cat "$scratch/out")"
fails_with 5 "$spillway" drain --wait --timeout 300ms 2>"$scratch/err" \
	>"$scratch/out"
grep -q 'No space left on device.*\[W162\]' "$scratch/err" ||
	fail "$(cat "$scratch/err")"

# There is room again: the agent has not given up.
echo enospc-after=-1 >.slowfs-control
"$spillway" drain --wait --timeout 30s >"$scratch/out"
same_bytes file "$scratch/data"
