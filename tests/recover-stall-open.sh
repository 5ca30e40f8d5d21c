#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recover-stall-open.sh -- a tier stalls while recover or fsck opens it: they say
# so while they wait, end, and nobody who reads their output waits any longer

. tests/functions.sh
# Nobody can look at what a thread has that is stuck in a tier.
ASAN_OPTIONS+=:detect_leaks=0
unset SPILLWAY_JOB
slow_mount
slow=$scratch/slow
tiers="ram@16M nvme:$(place "$slow")@64M"
head -c 300000 /dev/urandom >"$scratch/new"
: >file
rebooted stalls "$tiers" 'synced file "$1"' "$scratch/new"

# Both at once: each waits for half a minute.
echo 'stall=*nvme-*' >"$slow/.slowfs-control"
for command in 'recover -y' fsck; do
	{ timeout 60 "$spillway" $command --tiers "$tiers" 2>&1 || :; } |
		timeout 60 cat >"out ${command%% *}" &
	wait_for+=($!)
done
for ((i = 0; i < 250; i++)); do
	! grep -L 'take long to open' 'out recover' 'out fsck' | grep -q . ||
		{ sleep 0.1; continue; }
	break
done
[ $i -lt 250 ] || fail "silent: $(cat out*)"
for pid in "${wait_for[@]}"; do
	wait $pid || fail "the output is held: $(cat out*)"
done
grep -q W167 'out recover' || fail "$(cat 'out recover')"

>"$slow/.slowfs-control"
timeout 60 "$spillway" recover -y --tiers "$tiers" >out 2>&1 ||
	fail "later: $(cat out)"
same_bytes file "$scratch/new"
