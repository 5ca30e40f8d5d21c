#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-locked.sh -- mlockall locks the program's memory, and not the segment

. tests/functions.sh
without_sanitizer address "takes terabytes of address space"
without_sanitizer thread "takes terabytes of address space"

forms=$top_builddir/tests/lock-forms
spilled_flags=(--tiers ram@1G)
# Where little may be locked, nobody maps a segment after that: see twin-denied.
forms_here=(after limited)
if [ "$(ulimit -H -l)" = unlimited ]; then
	ulimit -l unlimited
	forms_here+=(before)
fi
for form in "${forms_here[@]}"; do
	rm -rf a b
	mkdir a b
	(cd a && plain "$forms" $form) >plain.out
	(cd b && spilled "$forms" $form) >spilled.out
	diff -u plain.out spilled.out || fail "$form: output differs"
	diff -r a b || fail "$form: files differ"
	counter_above writes_absorbed 0
done
