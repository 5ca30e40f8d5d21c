#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-full-tables.sh -- more descriptions than the segment has records for
#
# Those that have none are the kernel's, so the file is for everybody: else they
# would be read past what is written through others.

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
spilled_flags=(--tiers ram@1M --drain-delay 60s)
mkdir plain spilled
(cd plain && plain python3 ../opens.py) >plain.out || {
	[ $? != 77 ] || cannot "2600 descriptors are not allowed"
	fail "fails anyway"
}
(cd spilled && spilled python3 ../opens.py) >spilled.out || fail "ended with $?"
diff -u plain.out spilled.out || fail "saw something else"
diff -r plain spilled || fail "files differ"
grep -q '"no-room"' "$receipt" || fail "all had room: $(cat "$receipt")"
