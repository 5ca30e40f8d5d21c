#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# below-hot.sh -- what is read often stays in memory, also while much is read
# once, and what is read ahead stays until it is read

. tests/functions.sh
slow_mount
mount=$scratch/slow
cd "$mount"
mkdir "$scratch/tier"
spilled_flags=(--tiers "ram@16M nvme:$(place "$scratch/tier")@128M"
	--include "$mount")

# steps STEP...: nothing gets home before they are over.
steps()
{
	spilled timeout 60 "$top_builddir/tests/tier-steps" open:hot open:cold \
		open:fresh "set:$mount:stall=*" "$@" \
		"set:$mount:stall=" >"$scratch/out" 2>"$scratch/err" ||
		fail "ended with $?: $(cat "$scratch/err")"
	! grep -v '= 0$\|= right$' "$scratch/out" || fail "not right"
	counter_is bytes_undrained 0
	rm -f hot cold fresh
}

# What leaves first waits for home, in memory.
write=(write:fresh:3:0:10M:1M write:hot:1:0:2M:1M write:cold:2:0:40M:1M)
hot=repeat:5:hot:0:2M:64K
scan=check:cold:0:40M:64K

# What came up for the steps, and not on its way home.
up()
{
	echo $(($(counter bytes_up) - $(counter bytes_down)))
}

steps "${write[@]}" $hot
hot_alone=$(up)
steps "${write[@]}" $scan
scan_alone=$(up)
for try in 1 2 3; do		# a busy machine ages blocks in other turns
	steps "${write[@]}" $hot $scan $hot
	again=$(($(up) - hot_alone - scan_alone))
	[ $again -ge 6000000 ] || break
done
[ $hot_alone -lt 6000000 ] || fail "2 MiB read 5 times: $hot_alone came up"
[ $scan_alone -lt 60000000 ] || fail "40 MiB read once: $scan_alone came up"
[ $again -lt 6000000 ] || fail "after the scan $again came up again"
