#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recover-codec.sh -- what was packed by a codec that is missing now is named,
# kept and never written; with the codec it comes home

. tests/functions.sh
requires_disk
[ -e "$top_builddir/.libs/codec-lz4.so" ] || cannot "no lz4 in this build"
unset SPILLWAY_JOB

mkdir "$scratch/disk"
tiers="ram@16M nvme:$(place "$scratch/disk")@256M+lz4"
seq 100000 >"$scratch/new"
truncate -s 400000 "$scratch/new"
head -c 400000 /dev/zero >over
cp over old

rebooted packed "$tiers" 'synced over "$1"' "$scratch/new"
cmp -s over "$scratch/new" && fail "nothing to recover"

mkdir -p copy/.libs
cp "$spillway" "$top_builddir"/.libs/*.so copy/.libs
rm copy/.libs/codec-lz4.so
status=0
timeout 60 copy/.libs/spillway recover -y --color never --tiers "$tiers" \
	>out 2>err || status=$?
cat out err
[ $status != 0 ] || fail "recovered without the codec"
same_bytes over old
grep -q 'packed by lz4, which is missing: codec-lz4.so is not in ' err || fail "the codec is not named"
[ -n "$(find "$scratch/disk" -type f -size +0)" ] || fail "it is gone"

"$spillway" recover -y --tiers "$tiers" >out 2>err || fail "$(cat out err)"
same_bytes over "$scratch/new"
