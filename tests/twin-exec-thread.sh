#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-exec-thread.sh -- a drainer that is a thread goes with the image of its
# program: all is home before, and the last one leaves no segment

. tests/functions.sh
# The leak checker of a sanitizer does not survive the thread in here.
export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0

forms=$top_builddir/tests/exec-forms
export SPILLWAY_DRAINER=thread SPILLWAY_DRAIN_DELAY=10s

segments()
{
	compgen -G "$shm_dir/spillway.*/*.seg"
}

for form in alone orphan; do
	mkdir $form-plain $form-spilled
	(cd $form-plain && plain "$forms" $form)
	(cd $form-spilled && SPILLWAY_INCLUDE=$PWD LD_PRELOAD=$preload \
		"$forms" $form 2>err)
	[ ! -s $form-spilled/err ] || fail "$(cat $form-spilled/err)"
	rm $form-spilled/err
	for i in $(seq 100); do
		segments >/dev/null || break
		sleep 0.1
	done
	! segments || fail "$form: a segment is left"
	diff -r $form-plain $form-spilled || fail "$form: files differ"
done
