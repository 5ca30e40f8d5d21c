#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-address-space.sh -- a limited address space is left to the program

. tests/functions.sh
without_sanitizer address "takes terabytes of address space"
without_sanitizer thread "takes terabytes of address space"
requires python3 --version

cat >maps.py <<'PROGRAM'
import mmap
with open("file", "wb") as f:
    f.write(b"x" * 100000)
print(len(mmap.mmap(-1, 1500 << 20)), open("file", "rb").read(3))
PROGRAM

# limited KIB PRELOAD: the program with so much, and perhaps with us.
limited()
{
	(ulimit -S -v "$1"
	 SPILLWAY_TIERS=ram@1G SPILLWAY_INCLUDE=$PWD LD_PRELOAD=$2 \
		python3 ../maps.py)
}

for kib in $((2 << 20)) $((20 << 20)); do
	rm -rf a b
	mkdir a b
	(cd a && limited $kib '') >plain.out
	(cd b && limited $kib "$preload") >spilled.out 2>spilled.err
	"$spillway" drain --wait --timeout 20s 2>drain.err || :
	diff -u plain.out spilled.out || fail "$kib KiB: output differs"
	diff -r a b || fail "$kib KiB: files differ"
done
[ ! -s spilled.err ] || fail "20 GiB are enough: $(cat spilled.err)"

# Where no size was asked for, the segment is a small part of it.
(ulimit -S -v $((2 << 20))
 spilled dd if=/dev/zero of=c bs=100k count=5 status=none)
counter_above bytes_absorbed 400000

# Who limits itself, and what it starts, finds at home what was written before.
cat >shell.sh <<'STEPS'
dd if=/dev/zero of=before bs=1000 count=50 2>/dev/null
(ulimit -S -v 500000
 cat before | wc -c
 dd if=before of=within bs=1000 2>/dev/null
 python3 -c 'f = open("before", "ab"); f.write(b"x" * 1000)'
 cat before within | wc -c)
wc -c before within
STEPS
rm -rf a b
mkdir a b
(cd a && plain bash ../shell.sh) >plain.out
spilled_flags=(--drain-delay 60s --tiers ram@1G)
(cd b && spilled bash ../shell.sh) >spilled.out 2>spilled.err
diff -u plain.out spilled.out || fail "limited inside: output differs"
diff -r a b || fail "limited inside: files differ"
counter_above writes_absorbed 49
