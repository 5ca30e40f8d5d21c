#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# program-reopen.sh -- a file opened just when it came home is not cut

. tests/functions.sh
. "$srcdir/program-functions.sh"
requires python3 --version

cat >reopen.py <<'PROGRAM'
import os, time
text = b"x" * 30000
wrong = 0
end = time.monotonic() + float(os.environ["SECONDS_TO_RUN"])
k = 0
while time.monotonic() < end:
    k += 1
    name = "f%d" % (k % 7)
    with open(name, "wb", buffering=0) as f:
        f.write(text)
    # The drainer comes a moment after its delay: look all the time.
    until = time.monotonic() + 0.025
    while time.monotonic() < until:
        fd = os.open(name, os.O_RDONLY)
        wrong += len(os.read(fd, 40000)) != len(text)
        os.close(fd)
print("wrong:", wrong)
PROGRAM

export SECONDS_TO_RUN=2
is_long && SECONDS_TO_RUN=30
spilled_flags=(--drain-delay 10ms)
twins python3 ../reopen.py
counter_above bytes_absorbed 100000
