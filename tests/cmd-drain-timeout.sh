#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-drain-timeout.sh -- drain waits no longer than it is told to, also where
# it is the drainer itself and home is slow

. tests/functions.sh
slow_mount
cd "$scratch/slow"
head -c 8000000 /dev/urandom >"$scratch/data"

# A dead job with all of it in memory.
status=0
{ "$spillway" run --drain-delay 60s --tiers ram@16M -- bash -c 'cp "$1" file
	kill -9 $PPID $$' bash "$scratch/data" || status=$?; } 2>/dev/null
[ $status = 137 ] || fail "ended with $status"

# At this speed the drainer is at it for 80 s, and is not waited for.
echo bandwidth=100000 >.slowfs-control
for i in 1 2 3; do
	began=$SECONDS
	fails_with 5 "$spillway" drain --wait --timeout 300ms 2>"$scratch/err"
	[ $((SECONDS - began)) -lt 8 ] ||
		fail "waited for $((SECONDS - began)) s"
	grep -q 'not all is home in time.*W162' "$scratch/err" ||
		fail "$(cat "$scratch/err")"
done

echo bandwidth=0 >.slowfs-control
"$spillway" drain --wait >"$scratch/out"
grep -q ', 0 B left' "$scratch/out" || fail "$(cat "$scratch/out")"
same_bytes file "$scratch/data"
