#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# program-copy.sh -- cp, dd, install, truncate: bytes, holes, times, errors

. tests/functions.sh
. "$srcdir/program-functions.sh"

mkdir source
seq 100000 >source/numbers
head -c 100000 /dev/urandom >source/random
truncate -s 4M source/sparse
printf end >>source/sparse
chmod 640 source/random
touch -d '2017-07-07 07:07:07.777' source/*

cat >copies <<'SCRIPT'
set -e
s=../source
cp $s/numbers a
cp -p $s/random b
cp a a2; cp -p a2 a3
cp --sparse=always $s/sparse c
cp --sparse=never $s/sparse d
cp --reflink=auto $s/sparse e
cp e e2; cp --sparse=always d d2
cp -a $s f
cp --preserve=timestamps $s/numbers g
cp -u $s/numbers g
cp -l a h
cp --remove-destination $s/random h
cat a b >i; cat i >>j; cat i >>j
mv j k; mv -f k i
install -m 755 -p $s/random l
truncate -s 100 a2; truncate -s +5000 a2; truncate -s %4096 a2
tee m n <$s/numbers >o
sed -i s/1/one/ n
shuf --random-source=$s/numbers -o p $s/numbers
touch -d '2015-05-05 05:05:05' o
cp -p o q
ln -s a link; cp -P link link2; cp -L link follow
cp nowhere r 2>&1 || echo "status $?"
cp a a 2>&1 || echo "status $?"
cmp a follow && cmp d2 $s/sparse
du --apparent-size -b a b c d e f | sort
[ $(stat -c %b c) -lt 100 ] && [ $(stat -c %b d2) -lt 100 ] && echo sparse
SCRIPT
twins bash ../copies
counter_above bytes_absorbed 1000000
same_trees
same_times b f g l o q

cat >dds <<'SCRIPT'
s=../source
q=status=none
dd $q if=$s/numbers of=a bs=1000
dd $q if=$s/numbers of=b bs=64k conv=fsync
dd $q if=$s/random of=b bs=1 seek=100 count=500 conv=notrunc
dd $q if=$s/random of=b bs=7 skip=3 seek=9000 count=50 conv=notrunc,nocreat
dd $q if=$s/sparse of=c bs=4k conv=sparse
dd $q if=$s/random of=d oflag=append conv=notrunc
dd $q if=$s/numbers of=d oflag=append conv=notrunc bs=3000
dd $q if=$s/numbers bs=64k >e
dd $q if=$s/numbers of=f bs=64k oflag=dsync
dd $q if=$s/random of=g bs=4096 oflag=direct iflag=fullblock
dd $q if=$s/numbers of=h bs=10 seek=100000 count=1
dd $q if=/dev/zero of=i bs=1M count=0 seek=10
dd $q if=$s/numbers of=a bs=1000 count=3
dd $q if=a of=j ibs=512 obs=300 conv=ucase,swab
dd $q if=j bs=100 skip=5 count=2 | md5sum
(dd $q if=$s/numbers bs=100 count=1; dd $q if=$s/random bs=100 count=1) >k
(dd $q of=l bs=10 count=3; cat >m) <$s/numbers
dd $q if=a of=n conv=excl,fdatasync; dd $q if=a of=n conv=excl 2>&1
dd $q if=nowhere of=o 2>&1; echo "status $?"
SCRIPT
rm -rf plain spilled
twins bash ../dds
counter_above bytes_absorbed 1000000
bypassed direct
bypassed sync
same_trees
