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

await_no_segment()
{
	for i in $(seq 100); do
		segments >/dev/null || break
		sleep 0.1
	done
	! segments || fail "$1: a segment is left"
}

for form in alone orphan; do
	mkdir $form-plain $form-spilled
	(cd $form-plain && plain "$forms" $form)
	(cd $form-spilled && SPILLWAY_INCLUDE=$PWD LD_PRELOAD=$preload \
		"$forms" $form 2>err)
	[ ! -s $form-spilled/err ] || fail "$(cat $form-spilled/err)"
	rm $form-spilled/err
	await_no_segment $form
	diff -r $form-plain $form-spilled || fail "$form: files differ"
done

# Two end at the same time, and one of them was two images: the other sees that
# it is as good as gone, whatever it was before.
mkfifo begun go
mkdir pair
export SPILLWAY_INCLUDE=$PWD/pair
LD_PRELOAD=$preload sh -c 'exec 3>pair/other; echo >begun; read -r line <go' &
other=$!
read -r line <begun
(cd pair && SPILLWAY_FAILPOINT=job-left:1:stop LD_PRELOAD=$preload \
	exec "$forms" replace) >/dev/null &
pair=$!
for ((i = 0; i < 300; i++)); do
	! grep -qs '^[0-9]* (.*) [TZ]' /proc/$pair/stat || break
	sleep 0.1
done
grep -qs '^[0-9]* (.*) T' /proc/$pair/stat || skip "needs: --enable-failpoints"
echo >go
wait $other
kill -CONT $pair
wait $pair
await_no_segment pair
