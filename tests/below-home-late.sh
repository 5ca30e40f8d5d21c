#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# below-home-late.sh -- an error of home that comes long after it was asked to
# sync reaches who waits for that

. tests/functions.sh
slow_mount
mount=$scratch/slow
control=$mount/.slowfs-control
cd "$mount"
mkdir "$scratch/tier"

spilled_flags=(--tiers "ram@16M nvme:$(place "$scratch/tier")@64M"
	--include "$mount")
spilled "$top_builddir/tests/tier-steps" write:a:3:0:4K:4K \
	"call:$scratch/written" "set:$mount:stall=*" fsync:a \
	"save:a:$scratch/a" >"$scratch/out" 2>"$scratch/err" &
run=$!
for i in {1..100}; do			# only the fsync will meet the stall
	[ ! -e "$scratch/written" ] || [ "$(stat -c %s a)" != 4096 ] || break
	sleep 0.05
done
sleep 0.5
touch "$scratch/written.over"
for i in {1..100}; do
	! grep -q '^stalled=[1-9]' "$control" || break
	sleep 0.05
done
sleep 4					# nobody waits for that call any more
printf 'eio-fsync=*\nstall=\n' >>"$control"
while grep -q '^stalled=[1-9]' "$control"; do :; done
>"$control"
wait $run || fail "$(cat "$scratch/out" "$scratch/err")"
grep -qx 'fsync a = EIO' "$scratch/out" || fail "$(cat "$scratch/out")"
same_bytes "$scratch/a" a
counter_is bytes_undrained 0
