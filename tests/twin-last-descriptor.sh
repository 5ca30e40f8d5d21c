#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-last-descriptor.sh -- no descriptor left to make room for a file with

. tests/functions.sh
checked_front

# So much memory that the table of files comes in many parts.
spilled_flags=(--tiers ram@2G)
mkdir plain spilled
(cd plain && plain "$top_builddir/tests/last-descriptor") >plain.out
(cd spilled && spilled_flags+=(--include "$PWD") &&
	spilled "$top_builddir/tests/last-descriptor") >spilled.out ||
	fail "$(cat spilled.out)"
same_bytes plain.out spilled.out
diff -r plain spilled || fail "contents differ"
counter_above writes_absorbed 99
grep -q '"bypass": {}' "$receipt" || fail "not all was cached: $(cat "$receipt")"
