#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# below-home-stall.sh -- who fsyncs a new file waits for a home that stalls;
# those who read from a tier, or fsync what was fsynced before, do not

. tests/functions.sh
requires_disk
slow_mount
mount=$scratch/slow
cd "$mount"
mkdir "$scratch/tier"

spilled_flags=(--tiers "ram@16M nvme:$(place "$scratch/tier")@64M"
	--include "$mount")
spilled bash -c '"$0" open:d "call:$1/new" write:d:2:0:4K:4K fsync:d \
		"save:d:$1/d" >"$1/out.d" 2>"$1/err.d" &
	"$0" write:b:3:0:4K:4K fsync:b "call:$1/old" "set:$2:stall=*" \
		write:b:1:0:24M:256K "call:$1/below" check:b:0:24M:64K \
		write:b:4:0:8K:4K fsync:b "call:$1/end" "save:b:$1/b"
	wait' "$top_builddir/tests/tier-steps" "$scratch" "$mount" \
	>"$scratch/out" 2>"$scratch/err" &
run=$!
told()
{
	for i in {1..300}; do
		[ ! -e "$scratch/$1" ] || return 0
		kill -0 $run || break
		sleep 0.1
	done
	>"$mount/.slowfs-control"
	fail "no $1: $(cat "$scratch"/out* "$scratch"/err*)"
}
told new
told old
touch "$scratch/old.over"
told below
touch "$scratch/new.over"
sleep 0.5
touch "$scratch/below.over"
told end
[ ! -s "$scratch/out.d" ] || fail "fsync of d did not wait for home"
>"$mount/.slowfs-control"
touch "$scratch/end.over"
wait $run || fail "$(cat "$scratch"/out* "$scratch"/err*)"
grep -qx 'check b = right' "$scratch/out" || fail "$(cat "$scratch/out")"
[ "$(grep -cx 'fsync b = 0' "$scratch/out")" = 2 ] ||
	fail "$(cat "$scratch/out")"
grep -qx 'fsync d = 0' "$scratch/out.d" || fail "$(cat "$scratch/out.d")"
same_bytes "$scratch/b" b
same_bytes "$scratch/d" d
counter_is bytes_undrained 0
