#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-end-open.sh -- who ends with files open waits until the drainer has them:
# somebody without us may have moved or removed them, and nobody finds them then

. tests/functions.sh
requires python3 --version

# Does at once what it is asked for, and says so.
mkfifo ask done
while read -r request <ask; do
	eval "$request"
	echo >done
done &
outsider=$!
at_end 'kill $outsider 2>/dev/null'

cat >ends.py <<'PROGRAM'
import os, sys
def ask(request):
    with open("../ask", "w") as f:
        f.write(request + "\n")
    open("../done").read()
os.mkdir("d")
held = [os.open("d/f%d" % i, os.O_WRONLY | os.O_CREAT) for i in range(40)]
for fd in held:
    os.write(fd, b"x" * 20000)
ask(sys.argv[1].replace("HERE", os.getcwd()))
if sys.argv[2] == "_exit":
    os._exit(3)
if sys.argv[2] == "exec":
    os.execv("/bin/sh", ["sh", "-c", "exit 3"])
sys.exit(3)
PROGRAM

spilled_flags=(--drain-delay 10s --exclude "$PWD/ask" --exclude "$PWD/done")
for request in 'mv HERE/d HERE/e' 'rm -r HERE/d' \
	'mv HERE/d/f7 HERE/f; echo >HERE/d/f7'; do
	for end in _exit exit exec; do
		rm -rf a b
		mkdir a b
		(cd a && fails_with 3 plain python3 ../ends.py "$request" $end)
		(cd b && fails_with 3 spilled python3 ../ends.py "$request" $end)
		diff -rq a b || fail "$request, then $end: contents differ"
		counter_above writes_absorbed 39
		counter_is bytes_undrained 0
	done
done

# But not for one that does not answer, file by file.
cat >many.py <<'PROGRAM'
import os
for i in range(100):
    os.write(os.open("many%d" % i, os.O_WRONLY | os.O_CREAT), b"x" * 100)
os._exit(0)
PROGRAM
spilled sh -c 'run=$PPID
	dd if=/dev/zero of=first bs=10 count=1 2>/dev/null
	kill -STOP $run
	(sleep 8; kill -CONT $run) >/dev/null 2>&1 &
	began=$(date +%s)
	python3 many.py
	ended=$(date +%s)
	kill -CONT $run
	echo $((ended - began))' >seconds
[ "$(cat seconds)" -lt 5 ] || fail "it took $(cat seconds) s to end"
[ "$(cat many* | wc -c)" -ge 10000 ] || fail "many files: contents"
counter_is bytes_undrained 0
