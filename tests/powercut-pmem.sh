#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# powercut-pmem.sh -- what was fsynced into tier pmem survives a power cut, on a disk
# too

. tests/functions.sh
. "$srcdir/powercut-tiers"

[ -e "$top_builddir/.libs/tier-pmem.so" ] || skip "built without libpmem"
campaign 2 "ram@1M pmem:$tier@8M"
