#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# below-merge.sh -- small writes in no order leave as one: home, or down when
# memory is short

. tests/functions.sh
mkdir "$scratch/tier"

for tiers in ram@16M "ram@16M nvme:$(place "$scratch/tier")@64M"; do
	spilled_flags=(--tiers "$tiers" --drain-delay 10s)
	spilled "$top_builddir/tests/tier-steps" mix:a:1:0:1M:1K \
		"save:a:$scratch/a" close:a
	counter_is writes_absorbed 1024
	counter_is requests_home 1
	counter_is bytes_home 1048576
	same_bytes "$scratch/a" a
	rm a
	# Nor does it matter where in a block they begin.
	spilled "$top_builddir/tests/tier-steps" mix:a:1:3000:1M:1K \
		"save:a:$scratch/a" close:a
	counter_is requests_home 1
	same_bytes "$scratch/a" a
	rm a
done

# A write that waits for room in the middle of its bytes is still one.
spilled dd if=/dev/zero of=a bs=60000 count=1000 status=none
counter_is writes_absorbed 1000
rm a

# Blocks that are written in part stay in memory: one file is left to go.
slow_mount
mount=$scratch/slow
cd "$mount"
spilled_flags+=(--include "$mount")
spilled timeout 60 "$top_builddir/tests/tier-steps" open:b open:a \
	"set:$mount:stall=*" write:b:2:100:8M:1000:4096 mix:a:1:0:1M:1K \
	write:b:2:8388708:5M:1000:4096 sleep:300 check:a:0:1M:64K \
	"save:a:$scratch/a" "save:b:$scratch/b" \
	"set:$mount:stall=" close:a close:b >"$scratch/out" 2>"$scratch/err" ||
	fail "ended with $?"
counter_is requests_down 1
counter_is bytes_down 1048576
same_bytes "$scratch/a" a
same_bytes "$scratch/b" b
