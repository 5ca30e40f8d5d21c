#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-stacks.sh -- threads of 16 KiB stack, and a coroutine

. tests/functions.sh
without_sanitizer address "its library takes more stack than there is"
without_sanitizer thread "takes the start of an agent for a fork among threads"

forms=$top_builddir/tests/thread-forms
twin_threads small
twin_threads coroutine

# Without a run, a small stack makes the segment and starts the drainer.
bare()
{
	rm -rf a b
	mkdir a b
	(cd a && plain "$forms" $1) >/dev/null
	(cd b && LD_PRELOAD=$preload SPILLWAY_INCLUDE=$scratch/home \
		SPILLWAY_JOB=$1-$2 SPILLWAY_DRAINER=$2 \
		"$forms" $1) >/dev/null || fail "$1 with $2"
	for i in $(seq 100); do
		! diff -rq a b >/dev/null || break
		sleep 0.1
	done
	diff -r a b || fail "$1 with $2: contents differ"
}

for drainer in agent thread; do
	bare small $drainer
	bare coroutine $drainer
done
