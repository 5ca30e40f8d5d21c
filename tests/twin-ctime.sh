#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-ctime.sh -- that bytes are on their way home is not to be seen by ctime

. tests/functions.sh
requires python3 --version
slow_mount bandwidth=4000000
cd "$scratch/slow"
spilled_flags=(--drain-delay 1ms)

# Written in a moment, home in two seconds, of which each part moves the ctime
# there; times are those of a clock that ticks.  What the program changes itself
# is to be seen, then and afterwards.
cat >"$scratch/look.py" <<'END'
import os, time

TICK = 20000000

def look(seconds, mtime, ctime):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        st = os.fstat(fd)
        assert st.st_mtime_ns == mtime, "mtime moved"
        assert abs(st.st_ctime_ns - ctime) < TICK, "ctime moved"
        time.sleep(0.01)

fd = os.open("file", os.O_RDWR | os.O_CREAT, 0o600)
for i in range(8):
    os.write(fd, bytes(1 << 20))
written = os.fstat(fd).st_mtime_ns
look(0.5, written, written)
for change in (lambda: os.utime(fd, ns=(written, written)),
               lambda: os.fchmod(fd, 0o640)):
    before = time.time_ns()
    change()
    changed = os.fstat(fd).st_ctime_ns
    assert changed > before - TICK, "a change is not to be seen"
    look(0.3, written, changed)
look(2, written, changed)
END
spilled python3 "$scratch/look.py"
counter_is bytes_absorbed $((8 << 20))
counter_above requests_home 3
