#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-fdinfo.sh -- a program that looks up its own positions in /proc finds them

. tests/functions.sh
requires python3 --version

cat >fdinfo.py <<'PROGRAM'
import os
def show(fd, process="self"):
    with open("/proc/%s/fdinfo/%d" % (process, fd)) as f:
        print(f.readline().split())
fd = os.open("f", os.O_RDWR | os.O_CREAT)
other = os.dup(fd)
log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
os.write(fd, b"0123456789")
os.lseek(fd, 4, os.SEEK_SET)
show(fd)
os.write(other, b"abc")
show(fd, os.getpid())
show(other, "thread-self")
os.write(log, b"one")
os.write(log, b"two")
show(log)
if os.fork() == 0:
    os.read(fd, 2)
    show(fd)
    os._exit(0)
os.wait()
show(fd)
os.write(fd, b"X")
print(os.pread(fd, 20, 0), os.lseek(fd, 0, os.SEEK_CUR))
PROGRAM
mkdir a b
(cd a && plain python3 ../fdinfo.py) >a.out
spilled_flags=(--drain-delay 10s)
(cd b && spilled python3 ../fdinfo.py) >b.out
diff -u a.out b.out || fail "other positions"
diff -r a b || fail "contents differ"
counter_above writes_absorbed 4
