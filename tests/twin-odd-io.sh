#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-odd-io.sh -- holes, allocation, flags, vectors, counts and limits

. tests/functions.sh
checked_front

odd=$top_builddir/tests/odd-io
for behaviour in holes allocation flags vectors counts limits descriptors \
	attributes handles numbered; do
	for delay in 10s 1ms; do
		rm -rf a b
		mkdir a b
		spilled_flags=(--drain-delay $delay)
		(cd a && plain "$odd" $behaviour) >plain.out
		(cd b && spilled "$odd" $behaviour) >spilled.out
		diff -u plain.out spilled.out ||
			fail "$behaviour with a delay of $delay"
		diff -r a b || fail "$behaviour: contents differ"
		counter_above writes_absorbed 1
		counter_is bytes_undrained 0
	done
done
