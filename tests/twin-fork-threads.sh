#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-fork-threads.sh -- forks among threads, and signals during vfork

. tests/functions.sh
without_sanitizer thread "takes _Fork for a call like others, vfork for fork"
checked_front

for form in vfork-signal threads first-ends; do
	twin_forms "$top_builddir/tests/fork-forms" $form
done

# What is left of a thread is not everybody's to look at.
if admit_nobody; then
	mkdir -m 0777 nobody
	(cd nobody && "${nobody[@]}" "$spillway" run --receipt "$receipt" -- \
		"$top_builddir/tests/fork-forms" first-ends) ||
		fail "by nobody, a file without a name: status $?"
	counter_above writes_absorbed 0
fi
