#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-few-descriptors.sh -- no descriptor left to look for the drainer with

. tests/functions.sh
checked_front
slow_mount latency=120

# Who waits for more than 100 ms looks whether there is a drainer.
plain "$top_builddir/tests/odd-io" descriptors >"$scratch/plain.out"
cd "$scratch/slow"
spilled_flags=(--include "$scratch/slow")
spilled "$top_builddir/tests/odd-io" descriptors >"$scratch/spilled.out" ||
	fail "ended with $?"
diff -u "$scratch/plain.out" "$scratch/spilled.out" || fail "output differs"
counter_above writes_absorbed 1
counter_is bytes_undrained 0
cd "$scratch"
diff -r home slow-back || fail "contents differ"
