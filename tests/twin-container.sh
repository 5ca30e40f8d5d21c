#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-container.sh -- an agent that dies with its pid namespace leaves nothing

. tests/functions.sh
requires python3 --version
unshare -rpf true 2>/dev/null || cannot "no pid namespaces"

cat >program.py <<'PROGRAM'
import os, subprocess, sys
raw = open("raw", "wb", buffering=0)
for i in range(300):
    raw.write(b"%05d" % i * 999)
print("a line", file=open("text", "w"))
open("buffered", "w").write("x" * 1000)
kept = open("kept", "w")	# flushed when all is over
kept.write("y" * 1000)
if sys.argv[1] == "_exit":
    kept.flush()
    os._exit(7)
sys.exit(7)
PROGRAM

# twin NAME COMMAND...: the command runs the program in a namespace that ends
# with it or right after, and so does everybody in there.
twin()
{
	local name=$1 status=0

	shift
	mkdir "$name"
	(cd "$name" && SPILLWAY_JOB=$name SPILLWAY_DRAIN_DELAY=10s \
		SPILLWAY_INCLUDE=$scratch/home "$@") || status=$?
	[ $status = 7 ] || fail "$name: ended with $status"
	diff -r a "$name" || fail "$name: not all is home"
}

bare="env LD_PRELOAD=$preload"
mkdir a
(cd a && plain python3 ../program.py exit) || [ $? = 7 ]

twin first unshare -rpf $bare python3 ../program.py exit
twin first-exit unshare -rpf $bare python3 ../program.py _exit
twin second unshare -rpf \
	sh -c "$bare python3 ../program.py exit; exit \$?"
twin proc unshare -rmpf --mount-proc $bare python3 ../program.py exit
