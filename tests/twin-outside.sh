#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-outside.sh -- a managed file that gets a name outside of what is managed
# is read there by programs that never ask us

. tests/functions.sh

cat > "$scratch/names.sh" <<'E'
cd "$1"
printf '%0100000d' 7 >in/f
mv in/f out/f
wc -c <out/f
printf '%0100000d' 7 >in/g
ln in/g out/g
cat out/g | wc -c
printf more >>in/g
cat out/g | wc -c
ln -s ../in/h out/h
printf '%0100000d' 7 >out/h
cat in/h | wc -c
mkdir in/d
printf '%01000d' 3 >in/d/x
mv in/d out/d
cat out/d/x | wc -c
mv out/f in/f
printf x >>in/f
cat in/f | wc -c
ln -s ../out in/o
printf '%01000d' 3 >in/y
mv in/y in/o/y
cat out/y | wc -c
exec 5>in/z
echo a >&5
mv in/z out/z
cat out/z
echo b >&5
cat out/z
exec 6<>in/u
echo c >&6
rm in/u
cat /proc/self/fd/6
E

mkdir -p plain/in plain/out spilled/in spilled/out
plain sh "$scratch/names.sh" plain >plain.out
spilled_flags=(--drain-delay 10s --include "$PWD/spilled/in")
spilled sh "$scratch/names.sh" spilled >spilled.out
diff -u plain.out spilled.out || fail "something was not home in time"
diff -r plain spilled || fail "the trees differ"
counter_above bytes_absorbed 0
grep -q '"outside"' "$receipt" || fail "nobody said why"
