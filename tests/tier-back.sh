#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# tier-back.sh -- a drainer takes over while the tier that has most of a file is
# away: other files are served, those who need the tier wait or are told, and
# when it is back all is well without a third drainer

. tests/functions.sh
# Nobody can look at what a thread has that is stuck in a tier.
ASAN_OPTIONS+=:detect_leaks=0
slow_mount
slow_mount_at tier direct=1
mount=$scratch/slow tier=$scratch/tier
cd "$mount"

# away TIER KNOB [ERROR]: home takes so little that the tier has most of a. b may
# be told the error while the tier is away; other bytes than its own never.
away()
{
	local run program agent

	rm -f "$scratch"/step*
	"$spillway" run --tiers "ram@16M $1:$(place "$tier")@64M" \
		--include "$mount" -- "$top_builddir/tests/tier-steps" open:b \
		open:a "set:$mount:bandwidth=1000000" write:a:1:0:24M:256K \
		"call:$scratch/step1" write:b:2:0:2M:64K fsync:b \
		check:b:0:2M:64K "call:$scratch/step2" \
		"set:$mount:bandwidth=0" "save:a:$scratch/a" \
		"save:b:$scratch/b" "call:$scratch/step3" check:a:0:24M:64K \
		>"$scratch/out" 2>"$scratch/err" &
	run=$!
	at_end "kill -9 $run 2>/dev/null"
	await_step 1
	program=$(pgrep -P $run)
	at_end "kill -9 $program 2>/dev/null"
	# Before it is taken over; but who waits for a tier is not to be killed.
	[[ $2 = stall* ]] || echo "$2" >>"$tier/.slowfs-control"
	kill -9 $run
	wait $run || :
	echo "$2" >>"$tier/.slowfs-control"
	touch "$scratch/step1.over"
	await_step 2
	agent=$(drainer)
	>"$tier/.slowfs-control"
	touch "$scratch/step2.over"
	await_step 3
	until "$spillway" drain --wait --timeout 10s >/dev/null 2>&1; do
		sleep 0.1
	done
	[ "$(drainer)" = "$agent" ] || fail "$1, $2: another drainer"
	same_bytes "$scratch/a" a
	same_bytes "$scratch/b" b
	touch "$scratch/step3.over"
	while kill -0 $program 2>/dev/null; do
		sleep 0.1
	done
	cat >"$scratch/words" <<-'WORDS'
	fsync b = 0
	check b = right
	check a = right
	WORDS
	sed "s/^check b = ${3:-right}\$/check b = right/" "$scratch/out" \
		>"$scratch/told"
	diff -u "$scratch/words" "$scratch/told" || fail "$1, $2"
	"$spillway" drain --wait >/dev/null 2>&1 || [ $? = 3 ]
	rm a b
}

drainer()
{
	"$spillway" status --json |
		sed -n 's/.*"drainer_pid": *\([0-9]*\).*/\1/p'
}

await_step()
{
	until [ -e "$scratch/step$1" ]; do
		sleep 0.1
	done
}

away nvme 'stall=*'
away nvme 'eio-read=*' EIO
