#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# powercut-kernel.sh -- what the kernel changed at home stays changed, although
# somebody's fsync was served meanwhile

. tests/functions.sh
. "$srcdir/powercut-tiers"
requires python3 -c 'import mmap, os'

as_expected()
{
	cmp file "$scratch/expected" 2>&1 || :
}

# try CHANGE TIERS: see powercut-kernel.py.
try()
{
	echo "$1, $2:"
	record "ram@16M $2@16M" python3 "$srcdir/powercut-kernel.py" \
		"$1" "$scratch/expected"
	[ "$(stat -c %s "$scratch/expected")" -gt 20000 ] ||
		fail "$1: nothing to compare with"
	cut_after changed "$2" as_expected
}

drain_delay=60s
for change in punch copy send splice dsync cut cut-extend extend allocate \
	mmap replace again dsync+promised; do
	try $change "bb:$tier"
done
try punch "nvme:$tier"
try copy "nvme:$tier"
