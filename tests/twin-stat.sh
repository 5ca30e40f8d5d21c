#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-stat.sh -- every stat-like call shows what was written, home or not

. tests/functions.sh

forms=$top_builddir/tests/stat-forms
plain "$forms" a.dat >plain.out
spilled_flags=(--drain-delay 10s)
spilled "$forms" b.dat >late.out
counter_above bytes_absorbed 100000
diff -u plain.out late.out || fail "while bytes are not home"
same_stat a.dat b.dat

# Home is reached between any two looks.
spilled_flags=(--drain-delay 1ms)
for i in 1 2 3; do
	spilled "$forms" c$i.dat >early.out
	diff -u plain.out early.out || fail "while bytes come home"
done
