#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-emptied.sh -- who closes what he wrote and emptied waits for nobody

. tests/functions.sh
requires python3 --version

cat >emptied.py <<'PROGRAM'
import os, time

def round(i):
    fd = os.open("journal%d" % (i % 3), os.O_RDWR | os.O_CREAT, 0o644)
    os.write(fd, b"j" * (1 + i * 977))
    os.ftruncate(fd, 0)
    os.close(fd)

begin = time.monotonic()
for i in range(50):
    round(i)
# The drainer has nothing to do with it: 0.1 s each would be the wait for it.
print("in time" if time.monotonic() - begin < 3 else "late")
PROGRAM
spilled_flags=(--drain-delay 60s)
mkdir a b
(cd a && plain python3 ../emptied.py) >a.out
(cd b && spilled python3 ../emptied.py) >b.out
counter_above writes_absorbed 49
diff -u a.out b.out || fail "closing took its time"
diff -r a b || fail "files differ"
