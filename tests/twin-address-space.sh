#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-address-space.sh -- a limited address space is left to the program

. tests/functions.sh
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
