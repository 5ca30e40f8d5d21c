#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# program-rsync.sh -- rsync -a: the copy is equal, and the next run sees that

. tests/functions.sh
. "$srcdir/program-functions.sh"
requires rsync --version

mkdir source source/sub
for i in $(seq 80); do
	head -c $((i * 1234)) /dev/urandom >source/f$i
	touch -d "2020-01-01 00:00:$((i % 60)).123456789" source/f$i
done
ln -s f1 source/link
ln source/f2 source/hard
chmod 440 source/f3
truncate -s 3M source/sparse
echo end >>source/sparse
touch -h -d 2018-08-08 source/sparse source/sub source/link source

cat >script <<'SCRIPT'
set -e
rsync -aH ../source/ a/
rsync -aHi ../source/ a/
cp -a a b
echo changed >b/f5
printf x >>b/f60
rm b/f6
rsync -aHi --no-times --checksum --inplace ../source/ b/ | sort
rsync -aHi ../source/ b/ | cut -c 1-2,13- | sort
rsync -aHS ../source/ c/
rsync -aH --link-dest=../a ../source/ d/
rsync -a --partial --append-verify ../source/f70 e
head -c 1000 ../source/f71 >e2
rsync -a --append ../source/f71 e2
rsync -an --delete -i ../source/ d/
rsync -a --whole-file --remove-source-files d/ g/
SCRIPT
twins bash ../script
counter_above bytes_absorbed 1000000
same_trees
same_times a b c e e2 g
