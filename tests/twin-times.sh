#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-times.sh -- a time that was set is shown at once and is there at the end

. tests/functions.sh
checked_front

forms=$top_builddir/tests/time-forms
plain "$forms" a.dat >plain.out
for delay in 10s 1ms; do
	spilled_flags=(--drain-delay $delay)
	spilled "$forms" b-$delay.dat >spilled.out
	counter_above bytes_absorbed 50
	diff -u plain.out spilled.out || fail "with a delay of $delay"
	[ "$(stat -c %y a.dat)" = "$(stat -c %y b-$delay.dat)" ] ||
		fail "mtime at home is $(stat -c %y b-$delay.dat)"
	same_bytes a.dat b-$delay.dat
done
