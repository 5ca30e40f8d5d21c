#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-many-files.sh -- very many files, one after the other and at once

. tests/functions.sh
checked_front

files=5000
open=2000
[ -z "${SPILLWAY_CHECK_LONG:-}" ] || { files=100000; open=10000; }
ulimit -n "$(ulimit -Hn)"
[ "$(ulimit -n)" -gt $((open + 50)) ] || open=$(($(ulimit -n) - 50))

mkdir a b
(cd a && plain "$top_builddir/tests/crowd" small-files $files) >plain.out
(cd b && spilled "$top_builddir/tests/crowd" small-files $files) >spilled.out
diff -u plain.out spilled.out || fail "it saw something else"
diff -r a b || fail "files differ"
counter_is bytes_undrained 0
counter_is files_managed $files
counter_above writes_absorbed $((files / 2))

rm -rf a b
mkdir a b
(cd a && plain "$top_builddir/tests/crowd" open-files $open) >plain.out
(cd b && spilled "$top_builddir/tests/crowd" open-files $open) >spilled.out
diff -u plain.out spilled.out || fail "it saw something else"
diff -r a b || fail "files differ"
counter_is bytes_undrained 0
counter_above writes_absorbed $((open - 1))
