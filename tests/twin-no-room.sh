#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-no-room.sh -- memory that cannot be freed makes a file the kernel's

. tests/functions.sh

mkdir a b
(cd a && plain "$top_builddir/tests/pinned") >plain.out
spilled_flags=(--tiers ram@4M)
TIMEFORMAT='%U %S'
{ time (cd b && spilled timeout 60 "$top_builddir/tests/pinned") \
	>spilled.out; } 2>times || fail "it waits for ever"
diff -u plain.out spilled.out || fail "other positions"
diff -r a b || fail "files differ"
counter_above bytes_absorbed 1000000
counter_is bytes_undrained 0
grep -q '"no-room"' "$receipt" || fail "the reason is not told"

# Nobody burns a core for the five seconds until the file leaves; a sanitizer
# takes more than that to begin with.
[ "$sanitizers" != no ] || awk '{ exit $1 + $2 > 0.3 }' times || fail "seconds used: $(cat times)"
