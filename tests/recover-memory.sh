#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recover-memory.sh -- a tier in memory is no place for what is fsynced, but for
# who says that it is to stand for persistent memory

. tests/functions.sh
requires_disk
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

# It is warned of.
if "$spillway" version --features | grep -q '^tiers.* pmem '; then
	head -c 30000 "$scratch/new" >"$scratch/small"
	spilled_flags=(--tiers "ram@16M pmem:$(place "$shm_dir/place")@256M")
	spilled dd if="$scratch/small" of=file bs=64k conv=fsync status=none
	counter_is syncs_down 0
	export SPILLWAY_EMULATE_PMEM=1
	for PMEM_IS_PMEM_FORCE in 0 1; do
		export PMEM_IS_PMEM_FORCE
		spilled dd if="$scratch/small" of=file bs=64k conv=fsync \
			status=none 2>"$scratch/err"
		counter_above syncs_down 0
		grep -q W116 "$scratch/err" || fail "no warning"
		same_bytes file "$scratch/small"
	done
fi
