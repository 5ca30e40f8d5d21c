#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recover-cut.sh -- a file of tier pmem or nvme that was cut short, wherever: that
# is told, what lies before comes home, and what is not there can be given up

. tests/functions.sh
requires_disk
requires python3 --version
unset SPILLWAY_JOB
mkdir "$scratch/disk"
head -c 30000 /dev/urandom >"$scratch/new"

# Where in the file a byte of a piece lies.
place_in()			# FILE PIECE BYTE
{
	python3 - "$1" "$scratch/new" $2 $3 <<-'PYTHON'
	import sys
	at = int(sys.argv[3]) * 10000
	some = open(sys.argv[2], "rb").read()[at:at + 100]
	print(open(sys.argv[1], "rb").read().index(some) + int(sys.argv[4]))
	PYTHON
}

# cut_at BYTES PIECES: so many of the three pieces are whole. +BYTES are of the
# next one.
cut_at()
{
	local at=$1 log

	truncate -s 0 file
	rebooted cut "$tiers" 'for i in 0 1 2; do
		synced file "$1" count=1 skip=$i seek=$i; done' "$scratch/new"
	log=$(find "$scratch/disk" -name '*.log')
	[[ $at != +* ]] || at=$(place_in "$log" $2 $at)
	truncate -s $at "$log"
	fails_with 1 "$spillway" fsck --tiers "$tiers" >out 2>err
	grep -q '\[W169\]' err || fail "$1: $(cat out err)"
	fails_with 5 "$spillway" recover -y --tiers "$tiers" >out 2>err
	same_bytes file <(head -c $(($2 * 10000)) "$scratch/new")
	"$spillway" fsck --repair -y --tiers "$tiers" >out 2>err ||
		fail "$1: $(cat out err)"
	"$spillway" recover -y --tiers "$tiers" >out 2>err ||
		fail "$1: $(cat out err)"
	[ -z "$(ls "$scratch/disk")" ] || fail "$1: something is left"
}

tiers="ram@16M nvme:$(place "$scratch/disk")@256M+raw"
for bytes in 50 5000 8000 9999; do
	for pieces in 0 1 2; do
		cut_at +$bytes $pieces
	done
done

"$spillway" version --features | grep -q '^tiers.* pmem ' || exit 0
tiers="ram@16M pmem:$(place "$scratch/disk")@256M"
# Objects begin behind the slots, of which a file of 64 MiB has 32768.
data=$((4096 + 32768 * 64))
for at in 0 63 64 4096 4200 300000 $((data - 1)); do
	cut_at $at 0
done
cut_at $((data + 9000)) 0
cut_at $((data + 15000)) 1
cut_at $((data + 30000)) 2
