#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-rename-tools.sh -- write, then move: scripts that put things in place

. tests/functions.sh

# The writer has ended when its file moves, and the mover never opens it.
cat >steps.sh <<'STEPS'
set -e
for i in 1 2 3 4 5 6 7 8 9; do
	mkdir -p build/$i
	head -c $((i * 1111)) /dev/zero | tr '\0' $i |
		dd of=build/$i/part.tmp 2>/dev/null
	mv build/$i/part.tmp build/$i/part
done
mkdir done
mv build/1/part done/one
mv build/2 done/
mv build final
cp final/3/part kept
ln final/4/part linked
rm final/4/part
mv -f kept linked2
sed -i 's/5/V/g' final/5/part
sort -o final/6/part final/6/part
rm -r final/7
install -m 444 final/8/part installed
STEPS

mkdir a
(cd a && plain bash ../steps.sh)
for delay in 10s 1ms; do
	mkdir b-$delay
	spilled_flags=(--drain-delay $delay)
	(cd b-$delay && spilled bash ../steps.sh)
	counter_above bytes_absorbed 10000
	diff -r a b-$delay || fail "with a delay of $delay"
	same_stat a/installed b-$delay/installed
	same_stat a/linked b-$delay/linked
done
