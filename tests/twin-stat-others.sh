#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-stat-others.sh -- processes that open nothing see sizes of others' bytes

. tests/functions.sh

cat >steps.sh <<'STEPS'
set -e
exec 8>held.dat			# stays open: a child's stat must still see it
head -c 70000 /dev/zero | tr '\0' x >one.dat
mkdir sub
dd if=one.dat of=sub/two.dat bs=1000 2>/dev/null
head -c 5000 one.dat >&8
stat -c '%n %s' one.dat sub/two.dat held.dat
ls -ld one.dat sub/two.dat held.dat | awk '{print $5, $NF}'
test -s one.dat && test -s held.dat && echo not empty
find . -name '*.dat' -size +60k | sort
find . -name '*.dat' -printf '%p %s\n' | sort
du -b --apparent-size one.dat sub/two.dat | sort
[ "$(du -k one.dat | cut -f 1)" -ge 68 ] && echo has blocks
wc -c one.dat sub/two.dat
truncate -s 10 one.dat
stat -c '%n %s' one.dat
cat sub/two.dat >>one.dat
stat -c '%n %s' one.dat
[ sub/two.dat -nt held.dat ] || echo not newer
touch -r sub/two.dat held.dat
[ sub/two.dat -nt held.dat ] || echo not newer either
STEPS

mkdir a b
(cd a && plain bash ../steps.sh) >plain.out
spilled_flags=(--drain-delay 10s)
(cd b && spilled bash ../steps.sh) >spilled.out
counter_above bytes_absorbed 0
diff -u plain.out spilled.out || fail "another process saw something else"
diff -r a b || fail "contents differ"
