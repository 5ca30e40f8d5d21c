#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# below-hot.sh -- what is read often stays in memory, also while much is read
# once, and what is read ahead stays until it is read

. tests/functions.sh
. "$srcdir/below-functions.sh"
slow_mount
mount=$scratch/slow
cd "$mount"
mkdir "$scratch/tier"
spilled_flags=(--tiers "ram@16M nvme:$(place "$scratch/tier")@128M"
	--include "$mount")

# 10 MiB leave first and wait for home, in memory. 2 MiB are read 5 times, then
# 40 MiB once, then both: 1 MiB of these and all of those in turns.
both=()
for i in {0..39}; do
	both+=("check:cold:${i}M:1M:64K" check:hot:0:2M:64K)
done
spilled timeout 100 "$top_builddir/tests/tier-steps" open:hot open:cold \
	open:fresh "set:$mount:stall=*" write:fresh:3:0:10M:1M \
	write:hot:1:0:2M:1M write:cold:2:0:40M:1M repeat:5:hot:0:2M:64K \
	"call:$scratch/often" check:cold:0:40M:64K "call:$scratch/once" \
	"${both[@]}" "call:$scratch/both" "set:$mount:stall=" \
	>"$scratch/out" 2>"$scratch/err" &
run=$!
came_up often
[ $bytes -lt 6000000 ] || fail "2 MiB read 5 times: $bytes came up"
came_up once
[ $bytes -lt 60000000 ] || fail "40 MiB read once: $bytes came up"
# 120 MiB, if nothing stayed.
came_up both
[ $bytes -lt 70000000 ] || fail "40 MiB and 40 times 2 MiB: $bytes came up"
wait $run || fail "ended with $?: $(cat "$scratch/err")"
! grep -v '= 0$\|= right$' "$scratch/out" || fail "not right"
counter_is bytes_undrained 0
