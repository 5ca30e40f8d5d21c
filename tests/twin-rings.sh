#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-rings.sh -- whichever way liburing sets a ring up, the file is home

. tests/functions.sh
double=$built/.libs/ring-double.so
requires_file "$double" "the double of liburing is not built"
spilled_flags=(--drain-delay 10s)

for form in init mem params mmap setup; do
	plain env LD_PRELOAD="$double" "$top_builddir/tests/ring-forms" \
		$form >plain.out
	spilled env LD_PRELOAD="$preload:$double" \
		"$top_builddir/tests/ring-forms" $form >spilled.out
	diff -u plain.out spilled.out || fail "$form"
	grep -q '"io_uring"' "$receipt" || fail "$form: no reason told"
	counter_is writes_absorbed 1

	# A library that was loaded with one that only it uses.
	plain "$top_builddir/tests/ring-forms" $form "$double" >plain.out
	spilled "$top_builddir/tests/ring-forms" $form "$double" >spilled.out
	diff -u plain.out spilled.out || fail "$form, loaded later"
	grep -q '"io_uring"' "$receipt" || fail "$form: no reason told"
done
