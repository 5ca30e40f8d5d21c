#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# below-reused.sh -- a home that the drainer holds open is that of one file, and
# not of the next that has its record; nor is it held open longer than needed

. tests/functions.sh
requires python3 --version

mkdir "$scratch/tier" plain spilled
tier=$(place "$scratch/tier")
(cd plain && plain "$top_builddir/tests/reused-record") >plain.out
spilled_flags=(--tiers "ram@16M nvme:$tier@64M" --drain-delay 10s)
(cd spilled && spilled "$top_builddir/tests/reused-record") >spilled.out
counter_above writes_absorbed 20
counter_is bytes_undrained 0
diff -u plain.out spilled.out || fail "saw something else"
diff -r plain spilled || fail "contents differ"

# Opened for writing and synced, but not written: it can be executed.
cp /bin/true program
spilled python3 -c 'import os, subprocess
with open("program", "r+b") as f: os.fsync(f.fileno())
subprocess.run(["./program"], check=True)' || fail "not executed"
