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

for kind in bb; do
	for place in "$scratch" "$shm_dir"; do
		# shellcheck disable=SC2046
		"$top_builddir/tests/crash-tiers" $kind "$place" $rounds \
			$(points $kind)
	done
done
