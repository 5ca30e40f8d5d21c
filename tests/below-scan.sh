#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# below-scan.sh -- what was used again and again stays in memory while much else
# passes through, written or read once; what is used now takes its place at
# last, also where much is dirty and home does not take it

. tests/functions.sh
. "$srcdir/below-functions.sh"
slow_mount
mount=$scratch/slow
cd "$mount"
mkdir "$scratch/tier"
memory=16 hot=5				# MiB
tiers="ram@${memory}M nvme:$(place "$scratch/tier")@256M"

# begin TIERS STEP...
begin()
{
	before=0
	rm -f "$scratch"/step*
	"$spillway" run --receipt "$receipt" --tiers "$1" --include "$mount" \
		-- timeout 100 "$top_builddir/tests/tier-steps" "${@:2}" \
		>"$scratch/out" 2>"$scratch/err" &
	run=$!
	at_end "kill $run 2>/dev/null"
}

finish()
{
	wait $run || fail "ended with $?: $(cat "$scratch/err")"
	! grep -v '= 0$\|= right$' "$scratch/out" || fail "not right"
	rm -f "$mount"/*
}

# at_most WHAT BYTES
at_most()
{
	echo "$1: $bytes"
	[ "$bytes" -le "$2" ] || fail "$1: more than $2 bytes"
}

# Written and home: reads that are not served from memory are the kernel's.
# 6 times the memory is written meanwhile, blocks in pieces.
reads=(repeat:6:hot:0:${hot}M:64K)
for below in "ram@${memory}M" "$tiers"; do
	begin "$below" write:hot:1:0:${hot}M:64K "${reads[@]}" \
		write:other:2:0:96M:6000 check:hot:0:${hot}M:64K
	finish
	bytes=$((7 * (hot << 20) - $(counter bytes_served)))
	at_most "not in memory after much was written" $((hot << 15))
done

# The same, all below: nothing gets home, and what is not in memory comes up.
begin "$tiers" open:other open:hot "set:$mount:stall=*" \
	write:other:2:0:80M:64K write:hot:1:0:${hot}M:64K "${reads[@]}" \
	check:other:0:80M:64K "call:$scratch/step1" \
	check:hot:0:${hot}M:64K "call:$scratch/step2" "set:$mount:stall="
came_up step1
came_up step2
at_most "came up after much was read" $((hot << 15))
finish

# Another set takes its place, which has no room beside it: 10 MiB, that are
# read 40 times.
begin "$tiers" open:other open:hot "set:$mount:stall=*" \
	write:other:2:0:40M:64K write:hot:1:0:${hot}M:64K "${reads[@]}" \
	repeat:40:other:0:10M:64K "call:$scratch/step1" \
	repeat:4:other:0:10M:64K "call:$scratch/step2" "set:$mount:stall="
came_up step1
came_up step2
at_most "came up of what is read now" $((10 << 20))
finish

# Nor does what was written last keep it, and waits for a home that stalls.
begin "$tiers" open:other open:hot "set:$mount:stall=*" \
	write:other:2:0:10M:64K write:hot:1:0:40M:64K \
	repeat:12:other:0:10M:64K "call:$scratch/step1" \
	repeat:4:other:0:10M:64K "call:$scratch/step2" "set:$mount:stall="
came_up step1
came_up step2
at_most "came up of what is read beside much that is dirty" $((10 << 20))
finish
