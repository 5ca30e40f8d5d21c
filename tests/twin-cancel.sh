#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-cancel.sh -- threads that are cancelled before a call, or in the middle

. tests/functions.sh
without_sanitizer thread "who is cancelled inside its library keeps its locks"

forms=$top_builddir/tests/thread-forms
for behaviour in cancelled cancelled-resizing; do
	for delay in 10s 1ms; do
		rm -rf a b
		mkdir a b
		spilled_flags=(--drain-delay $delay)
		(cd a && plain "$forms" $behaviour) >/dev/null
		(cd b && spilled "$forms" $behaviour) >/dev/null ||
			fail "$behaviour with a delay of $delay"
		diff -r a b || fail "$behaviour: contents differ"
		counter_above writes_absorbed 40
		counter_is bytes_undrained 0
	done
done

# Cancelled already before the call.
twin_forms "$top_builddir/tests/cancel-forms" points
