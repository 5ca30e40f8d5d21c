#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-run-namespace.sh -- a pid namespace that has ended keeps no segment

. tests/functions.sh
unshare -rpf true 2>/dev/null || cannot "no pid namespaces"
[ "$(stat -L -c %i /proc/self/ns/pid)" = 4026531836 ] ||
	cannot "in a pid namespace itself, from where not all can be seen"

segment=$shm_dir/spillway.$(id -u)/$SPILLWAY_JOB.seg

# Processes that ended inside are not waited for, with /proc or without.
for inside in -rpf '-rmpf --mount-proc'; do
	spilled unshare $inside sh -c \
		'echo one >f; (echo two >>f; sleep 0.1) & wait' >out 2>&1
	[ ! -s out ] || { cat out; fail "unshare $inside: it said something"; }
	printf 'one\ntwo\n' | cmp - f || fail "unshare $inside: contents"
	counter_is bytes_undrained 0
	[ ! -e "$segment" ] ||
		fail "unshare $inside: the segment is still there"
done

# One that lives on inside keeps it, until it has ended as well.
[ "$(id -u)" = 0 ] || cannot "inside its namespace this user is another one"
spilled unshare -rp sh -c '(exec >g; mkdir there
	while [ ! -e go ]; do sleep 0.1; done; echo late) &
	while [ ! -e there ]; do sleep 0.1; done' 2>out
grep -q 'live on' out || fail "the one inside was taken for dead"
sleep 1
[ -e "$segment" ] || fail "the segment is gone before its last process"
touch go
for ((i = 0; i < 300; i++)); do
	[ -e "$segment" ] || break
	sleep 0.1
done
[ ! -e "$segment" ] || fail "the segment is there after its last process"
echo late | cmp - g

rm go
mkfifo written go

# Of one that was killed, nobody has waited yet for the first process: a zombie
# keeps no segment either.
SPILLWAY_JOB=killed SPILLWAY_DRAIN_DELAY=60s SPILLWAY_INCLUDE=$PWD \
	unshare -rpf env LD_PRELOAD="$preload" sh -c '
	exec 3>h; printf %01000d 0 >&3
	read -r first rest </proc/self/stat; echo $first >written
	read -r line <go' &
unshare=$!
at_end "kill -CONT $unshare 2>/dev/null"
read -r first <written
kill -STOP $unshare
kill -KILL $first
for ((i = 0; i < 300; i++)); do
	! grep -q '^[0-9]* (.*) Z' /proc/$first/stat || break
	sleep 0.1
done
"$spillway" recover -y killed >out 2>&1 || fail "$(cat out)"
grep -qx 'killed: recovered 1 file, 1000 B, checksums ok' out ||
	fail "$(cat out)"
kill -CONT $unshare
wait $unshare || :
[ "$(stat -c %s h)" = 1000 ] || fail "was not recovered"
