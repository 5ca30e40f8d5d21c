#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-threads.sh -- threads of 16 KiB stack, a thousand of them, cancelled ones

. tests/functions.sh

forms=$top_builddir/tests/thread-forms
for behaviour in small many cancelled cancelled-resizing; do
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
