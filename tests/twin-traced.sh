#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-traced.sh -- who ended under a tracer that walks paths, as proot does, is
# known to have ended: nothing waits for it; and the tracer, which writes down
# what it sees, waits for nobody that it has stopped

. tests/functions.sh
tracer=$top_builddir/tests/tracer
head -c 300000 /dev/urandom >data
"$tracer" true || cannot "no ptrace"
! "$tracer" stat -L /proc/self/ns/pid >/dev/null 2>&1 ||
	fail "the tracer shows namespaces"

# over MESSAGES: the job is over, and nobody stays for it.
over()
{
	! compgen -G "$shm_dir/spillway.*/*.seg" >/dev/null ||
		fail "a segment is left: $(cat "$1")"
	[ ! -s "$1" ] || fail "$(cat "$1")"
}

spilled timeout -s KILL 60 "$tracer" sh -c 'for i in 1 2 3; do
	dd if=data of=copy$i bs=10000 status=none
	# Before it all is brought home, also what the tracer writes.
	env -u LD_PRELOAD true; done' 2>said
over said
counter_above writes_absorbed 80
counter_is bytes_undrained 0
for i in 1 2 3; do
	same_bytes data copy$i
done
[ "$(sort -u calls)" = "a stop" ] || fail "calls: other bytes"
