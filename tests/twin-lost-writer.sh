#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-lost-writer.sh -- a child without the preload writes what its parent has
# open

. tests/functions.sh
requires python3 --version

cat >writers.py <<'PROGRAM'
import os, subprocess

def by_exec(script):
    subprocess.run(["/bin/sh", "-c", script], env={}, check=True)

def by_shell(script):
    os.system("env -i /bin/sh -c '%s'" % script)

def by_spawn(script):
    os.waitpid(os.posix_spawn("/bin/sh", ["sh", "-c", script], {}), 0)

for child in by_exec, by_shell, by_spawn:
    name = child.__name__
    log = open("log", "a")
    log.write(name + " one\n")
    log.flush()
    child("echo two >>log")
    print(os.fstat(log.fileno()).st_size)
    log.write("three\n")
    log.flush()
    print(open("log").read())
    log.close()

    both = open(name, "w+")
    both.write("x" * 10000)
    both.flush()
    child("printf 0123456789abcdef >" + name)
    both.seek(0)
    print(both.read())
    both.seek(2)
    both.write("YY")
    both.flush()
    child("printf more >>" + name)
    both.seek(0)
    print(both.read())
PROGRAM
mkdir a
(cd a && plain python3 ../writers.py) >a.out
for delay in 60s 50ms 0; do
	rm -rf b
	mkdir b
	spilled_flags=(--drain-delay $delay)
	(cd b && spilled python3 ../writers.py) >b.out
	counter_above writes_absorbed 5
	grep -q '"exec"' "$receipt" || fail "the kernel did not serve it"
	diff -u a.out b.out || fail "with a delay of $delay"
	diff -r a b || fail "files differ with a delay of $delay"
done
