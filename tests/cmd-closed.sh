#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-closed.sh -- commands that are started without standard input, output or
# error end with the status they end with anyway, and write into nothing else

. tests/functions.sh
requires_disk
unset SPILLWAY_JOB
mkdir "$scratch/disk"
tiers="ram@16M bb:$(place "$scratch/disk")@64M"
head -c 30000 /dev/urandom >"$scratch/new"

# Of three pieces the first is damaged.
damaged()
{
	rm -rf "$scratch/disk"/*
	truncate -s 0 file
	rebooted closed "$tiers" 'for i in 0 1 2; do
		synced file "$1" count=1 skip=$i seek=$i; done' "$scratch/new"
	printf xyz | dd of="$(find "$scratch/disk" -name '*1.object')" bs=1 \
		seek=3000 conv=notrunc status=none
}

for closed in '2>&-' '>&-' '>&- 2>&-' '<&-' '<&- 2>&-' '<&- >&- 2>&-'; do
	damaged
	(eval "exec $closed"
		fails_with 1 "$spillway" fsck --tiers "$tiers"
		fails_with 5 "$spillway" recover -y --tiers "$tiers") \
		>out 2>err || fail "$closed: $(cat out err)"
	same_bytes <(tail -c +10001 file) <(tail -c +10001 "$scratch/new")
	same_bytes <(head -c 4096 file) <(head -c 4096 /dev/zero)
	find "$scratch/disk" -type f -exec grep -l -e damaged -e checked \
		-e recovered {} + && fail "$closed: written into a tier"

	# The program has none either.
	(eval "exec $closed"
		"$spillway" run -- bash -c 'for fd in 0 1 2; do
			[ ! -e /proc/$$/fd/$fd ] || echo $fd
		done >fds; cp "$0" copied' "$scratch/new") ||
		fail "$closed: run ended with $?"
	same_bytes copied "$scratch/new"
	(eval "exec $closed"; bash -c 'for fd in 0 1 2; do
		[ ! -e /proc/$$/fd/$fd ] || echo $fd; done >plain-fds')
	same_bytes fds plain-fds
done
