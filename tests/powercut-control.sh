#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# powercut-control.sh -- a sync that did nothing would be noticed after recover

. tests/functions.sh
. "$srcdir/powercut-tiers"

# As if the disks had ignored each fsync: of a file, and so of the tier.
record_ranks 2 "ram@1M nvme:$tier@4M"
"$top_builddir/tests/powercut-log" unsync "$recording" "$scratch/unsynced"
cuts=15
[ "$(lost 2 "nvme:$tier" "$scratch/unsynced")" -gt 0 ] ||
	fail "seed $seed: nothing was missed"
