#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-time-order.sh -- times tell which file was changed before which

. tests/functions.sh
checked_front

# counted FILE: how many changes could not be seen.
counted()
{
	sed -n 's/^unchanged by a write or a cut: //p' "$1"
}

mkdir a
(cd a && plain "$top_builddir/tests/time-order") >plain.out
for delay in 10s 1ms; do
	spilled_flags=(--drain-delay $delay)
	mkdir b-$delay
	(cd b-$delay && spilled "$top_builddir/tests/time-order") >spilled.out
	counter_above writes_absorbed 700
	diff <(grep -v unchanged plain.out) <(grep -v unchanged spilled.out) ||
		fail "with a delay of $delay"
	[ "$(counted spilled.out)" -le "$(counted plain.out)" ] ||
		fail "with a delay of $delay: $(counted spilled.out) changes" \
			"were not seen, without us $(counted plain.out)"
done
