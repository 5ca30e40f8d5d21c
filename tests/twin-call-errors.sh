#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-call-errors.sh -- calls with bad arguments fail as they always do

. tests/functions.sh
requires_disk
checked_front

mkdir a
(cd a && plain "$top_builddir/tests/call-errors") >plain.out
rm a/loop
mkdir nvme
for delay in 10s 1ms 20s; do
	mkdir b-$delay
	spilled_flags=(--drain-delay $delay)
	[ $delay != 20s ] ||		# where a tier answers fsync
		spilled_flags+=(--tiers "ram@64M nvme:$(place "$here/nvme")@64M")
	(cd b-$delay && spilled "$top_builddir/tests/call-errors") >spilled.out
	counter_above writes_absorbed 15	# one of many vectors is one
	counter_above reads_served 1000
	counter_is bytes_undrained 0
	diff -u plain.out spilled.out || fail "with a delay of $delay"
	rm b-$delay/loop
	diff -r a b-$delay || fail "contents differ with a delay of $delay"
done
