#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# program-reopen.sh -- a file opened just when it came home is not cut

. tests/functions.sh
. "$srcdir/program-functions.sh"
requires python3 --version

cat >reopen.py <<'PROGRAM'
import os, time
text = b"x" * 300000
wrong = 0
end = time.monotonic() + float(os.environ["SECONDS_TO_RUN"])
k = 0
while time.monotonic() < end:
    k += 1
    name = "f%d" % (k % 7)
    with open(name, "wb", buffering=0) as f:
        f.write(text)
    # The drainer comes a moment after its delay; look all around it.
    time.sleep(0.010 + k % 50 * 0.0002)
    for i in range(40):
        with open(name, "rb", buffering=0) as f:
            if len(f.read(400000)) != len(text):
                wrong += 1
print("wrong:", wrong)
PROGRAM

export SECONDS_TO_RUN=4
is_long && SECONDS_TO_RUN=30
spilled_flags=(--drain-delay 10ms)
twins python3 ../reopen.py
counter_above bytes_absorbed 1000000
