#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# crash-tiers.sh -- a drainer killed in the middle of its work on a tier

. tests/functions.sh

rounds=40
[ "${SPILLWAY_CHECK_LONG:-0}" != 1 ] || rounds=1000

# The named points in the code of a kind.
points()
{
	local names

	names=$(cat "$top_srcdir/tiers/$1"*.c |
		grep -o "SPW_FAILPOINT(\"$1-[a-z-]*\"" | cut -d '"' -f 2)
	[ -n "$names" ] || fail "no points in $1"
	echo $names
}

# crash KIND POINT...: on a disk, and in memory.
crash()
{
	for place in "$scratch" "$shm_dir"; do
		"$top_builddir/tests/crash-tiers" "$1" "$place" $rounds \
			"${@:2}"
	done
}

crash bb $(points bb) $(points roll)
crash nvme $(points nvme) $(points roll)
SPILLWAY_IO=threads crash nvme

# Two of the points are passed where libpmem sees persistent memory.
if [ -e "$top_builddir/.libs/tier-pmem.so" ]; then
	export PMEM_IS_PMEM_FORCE=1
	crash pmem $(points pmem)
	PMEM_NO_FLUSH=1 crash pmem
	export PMEM_IS_PMEM_FORCE=0
	crash pmem $(points pmem | sed 's/pmem-slot//; s/pmem-drained//')
fi
