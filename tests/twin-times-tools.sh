#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-times-tools.sh -- cp -p, tar, rsync -a, touch and make keep their times

. tests/functions.sh
requires tar --version
requires make --version

mkdir from
for i in 1 2 3 4 5; do
	head -c $((i * 3000)) /dev/urandom >from/f$i
	touch -d "200$i-02-03 04:05:06.789$i" from/f$i
done
tar cf from.tar from

cat >steps.sh <<'STEPS'
set -e
cp -p ../from/f1 copied
cp -a ../from tree
mkdir untarred
tar xf ../from.tar -C untarred
! command -v rsync >/dev/null || rsync -a ../from/ synced/
head -c 9000 /dev/zero >touched
touch -d '2010-11-12 13:14:15.161718' touched
touch -r ../from/f3 -a touched
printf 'all: out\nout: in\n\tcat in >out\n\techo made\n' >Makefile
echo one >in
make -s --no-print-directory
make -s --no-print-directory
sleep 0.05
echo two >in
make -s --no-print-directory
make -s --no-print-directory
STEPS

# Name, size and mtime of what keeps a time; made things have the clock's.
list()
{
	(cd "$1" && find . -type f ! -name in ! -name out ! -name Makefile \
		-printf '%p %s %T+\n' | sort)
}

mkdir a b
(cd a && plain bash ../steps.sh) >plain.out
spilled_flags=(--drain-delay 300ms)
(cd b && spilled bash ../steps.sh) >spilled.out
counter_above bytes_absorbed 0
diff -u plain.out spilled.out || fail "make saw other times"
diff -r a b || fail "contents differ"
list a >a.list
list b >b.list
diff -u a.list b.list || fail "times differ"
