#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-stacks.sh -- threads of 16 KiB stack

. tests/functions.sh
without_sanitizer address "its library takes more stack than there is"
without_sanitizer thread "takes the start of an agent for a fork among threads"

forms=$top_builddir/tests/thread-forms
twin_threads small

# Without a run, a small thread makes the segment and starts the drainer.
for drainer in agent thread; do
	rm -rf a b
	mkdir a b
	(cd a && plain "$forms" small) >/dev/null
	(cd b && LD_PRELOAD=$preload SPILLWAY_INCLUDE=$scratch/home \
		SPILLWAY_JOB=small-$drainer SPILLWAY_DRAINER=$drainer \
		"$forms" small) >/dev/null || fail "small with $drainer"
	for i in $(seq 100); do
		! diff -rq a b >/dev/null || break
		sleep 0.1
	done
	diff -r a b || fail "small with $drainer: contents differ"
done
