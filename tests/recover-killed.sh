#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recover-killed.sh -- a recovery from tiers that is killed anywhere is done by
# the next one

. tests/functions.sh
requires_disk
unset SPILLWAY_JOB

most=2 tries=6
[ "${SPILLWAY_CHECK_LONG:-0}" != 1 ] || most=30 tries=200
mkdir "$scratch/disk"
disk=$(place "$scratch/disk")
head -c 300000 /dev/urandom >"$scratch/old"
head -c 300000 /dev/urandom >"$scratch/new"

# Where all of it was, whatever somebody does to it. The files at home are the
# inodes that the tier knows.
restore()
{
	rm -rf "$scratch/disk"
	cp -a "$scratch/saved" "$scratch/disk"
	for file in one two; do
		cat "$scratch/old" >$file
		touch -r "$scratch/times" $file
	done
}

begin()
{
	cp "$scratch/old" one
	cp "$scratch/old" two
	touch "$scratch/times"
	rebooted killed "ram@16M $1:$disk@64M" \
		'synced one "$1"; synced one "$2"; synced two "$1" count=9
		synced two "$2" skip=3 seek=3 count=3
		truncate -s 150000 two; synced two "$2" skip=8 seek=8 count=2' \
		"$scratch/old" "$scratch/new"
	rm -rf "$scratch/saved"
	cp -a "$scratch/disk" "$scratch/saved"
}

recover()
{
	"$spillway" recover -y --tiers "$1:$disk" >out 2>&1
}

# finish KIND AT: another one brings the rest home and leaves nothing.
finish()
{
	recover $1 || fail "$2: $(cat out)"
	same_bytes one "$scratch/new"
	same_bytes two "$scratch/wanted"
	recover $1 || fail "$2: $(cat out)"
	grep -qx 'nothing to recover' out || fail "$2: $(cat out)"
}

# points KIND: names of places that a recovery may come by.
points()
{
	cat "$top_srcdir"/planner/replay*.c "$top_srcdir/tiers/$1"*.c |
		grep -o 'SPW_FAILPOINT("[a-z-]*"' | cut -d '"' -f 2
}

die_at_points()
{
	local name nth status passed=0

	for name in $(points $1); do
		for ((nth = 1; nth <= most; nth++)); do
			status=0
			restore
			{ SPILLWAY_FAILPOINT=$name:$nth recover $1 ||
				status=$?; } 2>/dev/null
			[ $status = 0 ] || [ $status = 137 ] ||
				fail "$1, $name:$nth: ended with $status"
			finish $1 "$1, $name:$nth"
			[ $status = 137 ] || break
			passed=$((passed + 1))
		done
	done
	echo "$1: killed at $passed points"
	[ $passed -gt 4 ] || skip "built without failpoints"
}

die_by_chance()
{
	local i

	for ((i = 0; i < tries; i++)); do
		restore
		{ timeout -s KILL 0.0$((RANDOM % 40 + 10)) "$spillway" \
			recover -y --tiers "$1:$disk" >out 2>&1 ||
			:; } 2>/dev/null
		finish $1 "$1, by chance"
	done
}

# Three at once, and the first is killed: whoever has it does it.
meet()
{
	local i

	for ((i = 0; i < tries / 2; i++)); do
		restore
		recover $1 &
		"$spillway" recover -y --tiers "$1:$disk" \
			>out.2 2>&1 &
		{ timeout -s KILL 0.0$((RANDOM % 40 + 10)) "$spillway" \
			recover -y --tiers "$1:$disk" >out.3 2>&1 ||
			:; } 2>/dev/null
		wait
		finish $1 "$1, three at once"
	done
}

for kind in nvme bb; do
	begin $kind
	restore
	recover $kind || fail "$(cat out)"
	same_bytes one "$scratch/new"
	cp two "$scratch/wanted"
	cmp -s two "$scratch/old" && fail "$kind: nothing to recover"
	die_by_chance $kind
	meet $kind
	die_at_points $kind
done
