#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-rename.sh -- bytes go where the file went: renamed, swapped or linked

. tests/functions.sh
checked_front

forms=$top_builddir/tests/name-forms
mkdir a
(cd a && plain "$forms") >plain.out
for delay in 10s 1ms; do
	mkdir b-$delay
	spilled_flags=(--drain-delay $delay)
	(cd b-$delay && spilled "$forms") >spilled.out
	counter_above bytes_absorbed 100000
	diff -u plain.out spilled.out || fail "with a delay of $delay"
	diff -r a b-$delay || fail "contents differ with a delay of $delay"
done
