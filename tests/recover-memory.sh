#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recover-memory.sh -- a tier in memory is no place for what is fsynced

. tests/functions.sh
unset SPILLWAY_JOB

mkdir "$shm_dir/place" "$scratch/disk"
[ "$(stat -f -c %T "$shm_dir/place")" = tmpfs ] || cannot "no tmpfs here"
head -c 300000 /dev/urandom >"$scratch/new"

# in_tier PLACE: what is in the tier after an fsync, and the file at home.
in_tier()
{
	head -c 300000 /dev/zero >file
	rebooted memory "ram@16M nvme:$(place "$1")@256M" 'synced file "$1"' \
		"$scratch/new"
	"$spillway" recover --json --tiers "nvme:$(place "$1")" </dev/null \
		2>/dev/null |
		sed -n 's/.*"bytes": \([0-9]*\).*/\1/p'
	rm -rf "$1"/spillway-*
}

[ "$(in_tier "$scratch/disk")" = 300000 ] || fail "not in the tier on disk"
[ "$(in_tier "$shm_dir/place")" = 0 ] || fail "in a tier that a boot empties"
same_bytes file "$scratch/new"
