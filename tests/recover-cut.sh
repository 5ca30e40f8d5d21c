#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recover-cut.sh -- a file of tier pmem that was cut short, wherever: that is
# told, what lies before comes home, and what is not there can be given up

. tests/functions.sh
requires_disk
unset SPILLWAY_JOB
"$spillway" version --features | grep -q '^tiers.* pmem ' ||
	skip "built without libpmem"
mkdir "$scratch/disk"
tiers="ram@16M pmem:$(place "$scratch/disk")@256M"
head -c 30000 /dev/urandom >"$scratch/new"

# cut_at BYTES PIECES: so many of the three pieces are whole.
cut_at()
{
	truncate -s 0 file
	rebooted cut "$tiers" 'for i in 0 1 2; do
		synced file "$1" count=1 skip=$i seek=$i; done' "$scratch/new"
	truncate -s $1 "$(find "$scratch/disk" -name '*.log')"
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

# Objects begin behind the slots, of which a file of 64 MiB has 32768.
data=$((4096 + 32768 * 64))
for at in 0 63 64 4096 4200 300000 $((data - 1)); do
	cut_at $at 0
done
cut_at $((data + 9000)) 0
cut_at $((data + 15000)) 1
cut_at $((data + 30000)) 2
