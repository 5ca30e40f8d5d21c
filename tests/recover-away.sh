#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recover-away.sh -- a tier that a successor has to do without still has what
# fsync promised, and what is older than home, when it is back after a reboot

. tests/functions.sh
requires_disk
slow_mount
mount=$scratch/slow A=$scratch/A B=$scratch/B
cd "$mount"
mkdir "$A" "$B"
tiers="ram@16M nvme:$(place "$A")@64M bb:$(place "$B")@64M"

# come FILE: until it is there.
come()
{
	local i

	for ((i = 0; i < 600; i++)); do
		[ ! -e "$1" ] || return 0
		sleep 0.1
	done
	fail "$1 does not come: $(cat "$scratch/out" "$scratch/err")"
}

# without_a TIERS STEP...: the drainer is killed at the first call, to
# $scratch/one; its successor, which does not have A, at the second, to
# $scratch/two; and then there is a reboot, and A is back.
without_a()
{
	local run program agent

	"$spillway" run --tiers "$1" --include "$mount" --drain-delay 100ms \
		-- "$top_builddir/tests/tier-steps" "${@:2}" \
		>"$scratch/out" 2>"$scratch/err" &
	run=$!
	come "$scratch/one"
	program=$(pgrep -P $run)
	kill -KILL $run
	wait $run || :
	mv "$A" "$A.away"
	echo >"$A"
	touch "$scratch/one.over"
	come "$scratch/two"
	agent=$("$spillway" status --json |
		sed -n 's/.*"drainer_pid": *\([0-9]*\).*/\1/p')
	kill -KILL $program $agent
	while kill -0 $program || kill -0 $agent; do
		sleep 0.05
	done 2>/dev/null
	rm "$A" "$scratch"/one* "$scratch"/two* "$shm_dir"/spillway.*/*.seg
	mv "$A.away" "$A"
	SPILLWAY_JOB= "$spillway" recover -y --tiers "$1" >"$scratch/told" ||
		fail "recover: $?: $(cat "$scratch/told")"
	same_bytes a "$scratch/a"
}

# A alone has most of the file, and home is synced for what it got.
without_a "${tiers% *}" open:a "set:$mount:bandwidth=1000000" \
	write:a:1:0:24M:256K "save:a:$scratch/a" fsync:a \
	"call:$scratch/one" "set:$mount:bandwidth=0" fsync:a \
	"call:$scratch/two"
rm a

# A has older bytes; those that home got meanwhile were synced there.
without_a "$tiers" open:a write:a:1:0:64K:4K fsync:a "call:$scratch/one" \
	write:b:5:0:4K:4K fsync:b write:a:2:0:64K:4K sleep:3000 fsync:a \
	"save:a:$scratch/a" "call:$scratch/two"

# The same where home has no extended attributes: a file beside it tells, and
# goes with what it tells of.
rm -f a b
echo no-attributes=1 >>"$mount/.slowfs-control"
without_a "$tiers" open:a write:a:1:0:64K:4K fsync:a "call:$scratch/one" \
	write:b:5:0:4K:4K fsync:b write:a:2:0:64K:4K sleep:3000 fsync:a \
	"save:a:$scratch/a" "call:$scratch/two"
[ -z "$(ls -A | grep spillway)" ] || fail "left beside it: $(ls -A)"
