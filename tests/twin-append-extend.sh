#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-append-extend.sh -- a file grows by position while others append

. tests/functions.sh
checked_front

plain "$top_builddir/tests/append-extend" >plain.out
spilled "$top_builddir/tests/append-extend" >spilled.out ||
	fail "$(cat spilled.out)"
same_bytes plain.out spilled.out
counter_above bytes_absorbed 0
