#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# tier-renamed.sh -- fsync does not rely on a share that its path does not lead
# to any more; and recover finds one that has lost its lock

. tests/functions.sh
requires_disk
unset SPILLWAY_JOB
job=renamed

kinds="nvme bb"
! "$spillway" version --features | grep -q '^tiers.* pmem ' || kinds+=" pmem"

# killed_after KIND WHAT: a job that syncs, after which WHAT is done in the place
# of its tier, syncs other bytes and is killed; its segment is gone.
killed_after()
{
	rm -rf "$scratch/place"
	mkdir "$scratch/place"
	echo first >"$scratch/first"
	echo second >"$scratch/second"
	: >file
	rebooted $job "ram@16M $1:$(place "$scratch/place")@64M" '
		synced file "$2/first"
		(cd "$2/place"; '"$2"')
		synced file "$2/second"' "$1" "$scratch"
}

for kind in $kinds; do
	for what in 'mv spillway-* elsewhere' 'rm -r spillway-*' \
		'cd ..; mv place other; mkdir place'; do
		killed_after $kind "$what"
		[ "$(cat file)" = second ] ||
			fail "$kind, $what: an fsync is found nowhere"
		rm -rf "$scratch/other"
	done
	killed_after $kind 'rm spillway-*/*/$1.lock'
	"$spillway" recover -y --tiers "$kind:$(place "$scratch/place")" >out
	[ "$(cat file)" = second ] || fail "$kind: $(cat out)"
	[ -z "$(ls "$scratch/place")" ] || fail "$kind: left a share"
done

# The lock was removed after the job had died.
for kind in $kinds; do
	killed_after $kind ''
	[ ! -s file ] || fail "$kind: nothing to recover"
	rm "$scratch"/place/spillway-*/*/$kind.lock
	"$spillway" recover -y --tiers "$kind:$(place "$scratch/place")" >out
	[ "$(cat file)" = second ] || fail "$kind: $(cat out)"
done
