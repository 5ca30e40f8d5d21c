#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-keep-faults.sh -- files that are to be kept in tiers, and a home that
# stalls meanwhile, or cannot be made a stub

. tests/functions.sh
requires_disk
slow_mount
mount=$scratch/slow
cd "$mount"
mkdir "$scratch/tier"
flags=(--at-exit keep --include "$mount" --drain-delay 5ms
	--tiers "ram@16M nvme:$(place "$scratch/tier")@64M")

# Home stalls before the drainer has looked at it: what is written goes down,
# and comes back.
timeout 60 "$spillway" run "${flags[@]}" -- "$top_builddir/tests/tier-steps" \
	open:a open:b "set:$mount:stall=*" write:a:1:0:24M:256K \
	check:a:0:24M:64K write:b:2:0:64K:4K "call:$scratch/done" \
	"save:a:$scratch/a" >"$scratch/out" 2>"$scratch/err" &
run=$!
for i in {1..300}; do
	[ ! -e "$scratch/done" ] && kill -0 $run 2>/dev/null || break
	sleep 0.1
done
>"$mount/.slowfs-control"
[ -e "$scratch/done" ] || fail "waits for home: $(cat "$scratch/out")"
touch "$scratch/done.over"
wait $run || fail "ended with $?: $(cat "$scratch/err")"
grep -qx 'check a = right' "$scratch/out" || fail "$(cat "$scratch/out")"
"$spillway" stage out a b
same_bytes "$scratch/a" a
rm a b

# What is neither a stub nor plain is not given up with the segment.
status=0
timeout 60 "$spillway" run "${flags[@]}" -- "$top_builddir/tests/tier-steps" \
	write:a:1:0:1M:64K fsync:a "set:$mount:eio-fsync=*" \
	"save:a:$scratch/a" >"$scratch/out" 2>"$scratch/err" || status=$?
[ $status = 122 ] || fail "ended with $status: $(cat "$scratch/err")"
! grep -q 'kept' "$scratch/err" || fail "$(cat "$scratch/err")"
>"$mount/.slowfs-control"
"$spillway" drain --wait >/dev/null 2>&1 || [ $? = 3 ]
"$spillway" stage out a >/dev/null
same_bytes "$scratch/a" a
