#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# below-damage-takeover.sh -- a drainer dies and the next one finds its tier
# damaged: what is whole there is read and gets home, the rest is told

. tests/functions.sh
slow_mount
mount=$scratch/slow
cd "$mount"
mkdir "$scratch/tier"

# taken_over TIER RIGHT: at least so many of 384 pieces can be read.
taken_over()
{
	local run program file right

	"$spillway" run --tiers "ram@16M $1:$scratch/tier@64M" \
		--include "$mount" -- "$top_builddir/tests/tier-steps" \
		open:a "set:$mount:bandwidth=4000000" write:a:1:0:24M:256K \
		"call:$scratch/go" check:a:0:24M:64K "set:$mount:bandwidth=0" \
		"save:a:$scratch/a" "call:$scratch/end" \
		>"$scratch/out" 2>"$scratch/err" &
	run=$!
	until [ -e "$scratch/go" ]; do
		sleep 0.1
	done
	program=$(pgrep -P $run)
	kill -9 $run
	wait $run || :
	for file in $(find "$scratch/tier" -type f -size +1000k); do
		printf 'this was not written by anybody' |
			dd of="$file" bs=1 seek=300000 conv=notrunc status=none
	done
	touch "$scratch/go.over"
	until [ -e "$scratch/end" ]; do
		kill -0 $program || fail "$1: $(cat "$scratch/err")"
		sleep 0.1
	done
	touch "$scratch/end.over"
	cat "$scratch/out" "$scratch/err"
	grep -qx 'check a = EIO' "$scratch/out" || fail "$1: nothing was lost"
	right=$(sed -n 's/check a: \([0-9]*\) right.*/\1/p' "$scratch/err")
	[ "$right" -ge $2 ] || fail "$1: only $right pieces are right"
	! "$spillway" drain --wait --timeout 5s >"$scratch/told" 2>&1 ||
		fail "$1: drained"
	grep -q "/a: bytes .*, tier $1, .*\[W169\]" "$scratch/told" ||
		fail "$1: $(cat "$scratch/told")"
	[ "$(cmp -l "$scratch/a" a | wc -l)" -le $(((384 - right) * 65536)) ] ||
		fail "$1: what can be read did not get home"
	kill -9 $("$spillway" status --json |
		sed -n 's/.*"drainer_pid": *\([0-9]*\).*/\1/p')
	rm -rf a "$scratch"/go* "$scratch"/end* "$scratch"/tier/* \
		"$shm_dir"/spillway.*/*.seg
}

taken_over nvme 280
taken_over bb 330
