#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-confine.sh -- a program forbids itself system calls, becomes another user
# or has another root

. tests/functions.sh
without_sanitizer address "looks for leaks with calls that are forbidden then"
without_sanitizer thread "calls what is forbidden then"

requires "$top_builddir/tests/deny" madvise true
forms=$top_builddir/tests/confine-forms
chmod 1777 "$shm_dir"
for form in strict filter filter-all user landlock root; do
	spilled_flags=(--drain-delay 60s)
	twin_forms "$forms" $form
	mkdir $form-thread
	(cd $form-thread && LD_PRELOAD=$preload SPILLWAY_INCLUDE=$PWD \
		SPILLWAY_DRAINER=thread "$forms" $form) >$form-thread.out 2>&1
	grep -vx 'exit status 0' $form-plain.out | diff -u - $form-thread.out ||
		fail "$form: output differs with a thread"
	diff -r $form-plain $form-thread || fail "$form: files differ"
	# Nobody is left who could remove it from within another root.
	"$spillway" recover -y >/dev/null 2>&1 || [ $? = 3 ]
	! compgen -G "$shm_dir/spillway.*/*.seg" ||
		fail "$form: a segment is left"
done
