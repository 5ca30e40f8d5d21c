#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# program-sort.sh -- sort with temporary files, split, join, uniq, csplit

. tests/functions.sh
. "$srcdir/program-functions.sh"

seq 60000 | sort -R --random-source=<(yes) >numbers
is_long && for i in 1 2 3 4; do cat numbers >>more; done && mv more numbers

cat >script <<'SCRIPT'
set -e
n=../numbers
sort $n >a
sort -n $n -o b
sort -S 100k -T . $n -o c
sort -S 100k -T . --parallel=2 --compress-program=gzip $n -o c2
cp $n d && sort -r d -o d
sort -m a c -o e
sort -c a && sort -u e | wc -l
split -b 10000 $n sb-
split -n l/5 $n sn-
split -l 7000 --filter='cat >$FILE.out' $n sf-
split -n r/3 $n sr-
split --additional-suffix=.x -C 50k $n sc-
cat sb-* >joined && cmp joined $n
csplit -s -n 4 b '/000$/' '{*}'
comm -12 a c | head -n 100 >common
join a c | tail -n 100 >joint
uniq -c e >counted
paste a b | awk '{ print > ("awk-" NR % 7) }'
awk '{ print | "sort -u > piped" }' a
tac b >t; nl b >nl; fold -w 3 b >fold; tr 0 x <b >tr
wc -l * | sort | md5sum
SCRIPT
twins bash ../script
counter_above bytes_absorbed 1000000
same_trees
