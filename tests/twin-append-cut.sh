#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-append-cut.sh -- a log that is cut while another process appends to it

. tests/functions.sh
checked_front

plain "$top_builddir/tests/append-cut" >plain.out
spilled "$top_builddir/tests/append-cut" >spilled.out ||
	fail "$(cat spilled.out)"
same_bytes plain.out spilled.out
counter_above bytes_absorbed 0
