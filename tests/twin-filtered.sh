#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-filtered.sh -- every system call that Spillway makes is forbidden once
#
# By a filter that was there before: the program runs, plainly if need be, with
# one line at most, and what it wrote is home.

. tests/functions.sh
without_sanitizer address "makes calls of its own that are forbidden then"
without_sanitizer thread "makes calls of its own that are forbidden then"

deny=$top_builddir/tests/deny
program=$top_builddir/tests/few-calls
requires "$deny" madvise true
mkdir a
(cd a && fails_with 7 "$program") >plain.out

bare()
{
	LD_PRELOAD=$preload SPILLWAY_INCLUDE=$PWD SPILLWAY_DRAINER=$1 \
		"$deny" "$2" "$program"
}

run()
{
	"$deny" "$1" "$spillway" run -- "$program"
}

# same CALL=ERROR COMMAND...: as without the filter and Spillway.
count=0
same()
{
	local denied=$1 status=0

	shift
	rm -rf b
	mkdir b
	count=$((count + 1))
	(cd b && "$@" "$denied") >b.out 2>b.err || status=$?
	[ $status = 7 ] || fail "$*: $denied: $status: $(cat b.err)"
	cmp plain.out b.out || fail "$*: $denied: saw something else"
	[ "$(wc -l <b.err)" -le 1 ] || fail "$*: $denied: $(cat b.err)"
	for i in {1..200}; do		# an agent may be at it
		! diff -rq a b >/dev/null || break
		sleep 0.05
	done
	diff -r a b || fail "$*: $denied: files differ"
}

for call in $("$deny"); do
	same $call=EPERM run
	same $call=ENOSYS run
	SPILLWAY_JOB=thread same $call=EPERM bare thread
	SPILLWAY_JOB=thread same $call=ENOSYS bare thread
	SPILLWAY_JOB=agent same $call=EPERM bare auto
done

# What kills is noticed by a child, but for what comes before or makes it.
first='access|clone|wait4|rt_sigprocmask|prctl|exit|getcwd'
for call in $("$deny" | grep -vxE "$first"); do
	same $call=KILL run
done
for call in linkat pwritev madvise mincore fcntl; do
	same $call=KILL bare thread
done

# Nothing is left, not even an empty segment, and nothing is said but once.
for i in {1..100}; do
	compgen -G "$shm_dir/spillway.*/*.seg" >/dev/null || break
	sleep 0.1
done
! compgen -G "$shm_dir/spillway.*/*.seg" || fail "a segment is left"
printf '%s\n' 'for i in 1 2 3; do date >d; cat d; done' 'exit 7' >many
for twin in 'run --' bare; do
	command=("$spillway" $twin)
	[ "$twin" != bare ] || command=(env LD_PRELOAD="$preload"
		SPILLWAY_INCLUDE="$PWD")
	fails_with 7 "$deny" linkat "${command[@]}" bash many >/dev/null 2>err
	[ "$(grep -c 'linkat.*without Spillway' err)" = 1 ] &&
		[ "$(wc -l <err)" = 1 ] || fail "$twin: $(cat err)"
done
fails_with 125 "$deny" linkat "$spillway" run --strict -- touch started 2>err
[ ! -e started ] || fail "--strict: it was started"
[ $count -gt 200 ] || fail "only $count runs"
