#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-full-tables.sh -- more descriptions, or files, than the segment has
# records for
#
# Those that have none are the kernel's, so the file is for everybody, also when
# there is room again: else they would be read past what is written through
# others.

. tests/functions.sh
requires python3 --version

cat >opens.py <<'PROGRAM'
import os, resource

most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
if most < 2600:
    raise SystemExit(77)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
fd = os.open("file", os.O_RDWR | os.O_CREAT, 0o644)
os.write(fd, b"first")
others = [os.open("file", os.O_RDONLY) for i in range(2500)]
os.write(fd, b" second")
texts = {os.read(other, 100) for other in others}
print(sorted(texts), os.fstat(others[-1]).st_size)
PROGRAM
# The same file opened while there was no record for it, and afterwards.
cat >later.py <<'PROGRAM'
import os, resource

most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
if most < 2600:
    raise SystemExit(77)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

def look(what):
    print(what, [(os.pread(fd, 99, 0), os.fstat(fd).st_size, os.lseek(fd, 0, 1))
                 for fd in (first, second)], flush=True)

def write_by_turns():
    look("open")
    os.pwrite(second, b"second", 3); look("second")
    os.pwrite(first, b"first", 8); look("first")
    os.ftruncate(first, 11); look("cut")
    third = os.open("late", os.O_WRONLY | os.O_APPEND)
    os.write(third, b" third"); look("appended")
    os.lseek(first, 0, os.SEEK_END)
    os.write(first, b" end"); look("at the end")
    if os.fork() == 0:
        os.pwrite(first, b"CHILD", 0)
        os.pwrite(second, b"child", 20); look("child")
        os.execvp("sh", ["sh", "-c", "cat late; echo exec >>late"])
    os.wait()
    look("after")
    os.close(third)

others = [os.open("other%d" % i, os.O_RDWR | os.O_CREAT, 0o644)
          for i in range(2500)]
first = os.open("late", os.O_RDWR | os.O_CREAT, 0o644)
os.write(first, b"0123456789")
for fd in others:
    os.close(fd)
second = os.open("late", os.O_RDWR)
write_by_turns()

# A name that is too long for a record, and becomes shorter.
os.makedirs("/".join(["d" * 200] * 4))
first = os.open("/".join(["d" * 200] * 4) + "/late", os.O_RDWR | os.O_CREAT,
                0o644)
os.write(first, b"0123456789")
os.rename("/".join(["d" * 200] * 4) + "/late", "late")
second = os.open("late", os.O_RDWR)
write_by_turns()
PROGRAM

spilled_flags=(--tiers ram@1M --drain-delay 60s)
for program in opens later; do
	mkdir $program.plain $program.spilled
	(cd $program.plain && plain python3 ../$program.py) >plain.out || {
		[ $? != 77 ] || cannot "2600 descriptors are not allowed"
		fail "$program: fails anyway"
	}
	(cd $program.spilled && spilled python3 ../$program.py) >spilled.out ||
		fail "$program: ended with $?"
	diff -au plain.out spilled.out || fail "$program: saw something else"
	diff -r $program.plain $program.spilled ||
		fail "$program: files differ"
	grep -q '"no-room"' "$receipt" ||
		fail "$program: all had room: $(cat "$receipt")"
done
