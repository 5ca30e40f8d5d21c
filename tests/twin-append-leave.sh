#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-append-leave.sh -- records that are appended while the kernel takes over
# are whole, and so are the counts

. tests/functions.sh
checked_front

plain "$top_builddir/tests/append-leave" >plain.out
spilled "$top_builddir/tests/append-leave" >spilled.out ||
	fail "$(cat spilled.out)"
same_bytes plain.out spilled.out
counter_above bytes_absorbed 0
counter_above mmap 0
