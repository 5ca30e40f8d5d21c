#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# program-archive.sh -- tar, gzip, zstd and rsync keep bytes, holes and times

. tests/functions.sh
. "$srcdir/program-functions.sh"
requires tar --version
requires gzip --version

mkdir source source/sub
for i in $(seq 120); do
	head -c $((i * 317)) /dev/urandom >source/f$i
	touch -d "2020-01-01 00:00:$((i % 60)).123456789" source/f$i
done
ln -s f1 source/link
ln source/f2 source/hard
cp source/f4 source/sub/f4
chmod 444 source/f3
chmod 4755 source/f5
truncate -s 5M source/sparse
echo end >>source/sparse
seq 50000 >source/numbers
find source -name '[sl]*' -exec touch -h -d '2019-05-05 05:05:05.5' {} +

cat >tars <<'SCRIPT'
set -e
tar --format=posix -cf a.tar -C ../source .
mkdir x && tar xf a.tar -C x
tar czf a.tgz -C ../source .
mkdir z && tar xzf a.tgz -C z
tar cSf s.tar -C ../source sparse
mkdir s && tar xSf s.tar -C s
tar cf - -C ../source . | (mkdir p && tar xf - -C p)
tar rf s.tar -C ../source f9 && tar tf s.tar
tar --delete -f s.tar sparse && tar tf s.tar
rm a.tar a.tgz s.tar
SCRIPT
twins bash ../tars
counter_above bytes_absorbed 1000000
same_trees
same_times x s/sparse z p

cat >packers <<'SCRIPT'
set -e
cp -p ../source/numbers n
gzip n && gzip -t n.gz && gunzip -k n.gz
gzip -9 <n >n9.gz
gzip -dc n9.gz | cmp - n
gzip -l n.gz
for i in 1 2 3; do gzip -c ../source/f$i >>all.gz; done
gzip -dc all.gz | md5sum
SCRIPT
rm -rf plain spilled
twins bash ../packers
counter_above bytes_absorbed 1000
rm -f plain/n9.gz spilled/n9.gz		# holds the time
same_trees
same_times n n.gz

if zstd --version >/dev/null 2>&1; then
	cat >zstds <<-'SCRIPT'
	set -e
	zstd -q ../source/numbers -o n.zst
	zstd -q -d n.zst -o n
	zstd -q -T2 -15 n -o n15.zst
	zstd -q -dc n15.zst | cmp - n
	zstd -q --long=27 <n >nl.zst
	zstd -q --rm -f n
	zstd -q -t n.zst nl.zst
	zstd -q --train ../source/f* -o dict 2>/dev/null || :
	rm -f dict
	SCRIPT
	rm -rf plain spilled
	twins bash ../zstds
	counter_above bytes_absorbed 1000
	same_trees
	same_times n.zst
fi
