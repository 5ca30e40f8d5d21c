#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recover-moved.sh -- a file is found wherever it went, and another file that
# has its name now is never written over

. tests/functions.sh
requires_disk
unset SPILLWAY_JOB

mkdir "$scratch/disk"
tiers="ram@16M nvme:$(place "$scratch/disk")@64M"
head -c 300000 /dev/urandom >"$scratch/old"
head -c 300000 /dev/urandom >"$scratch/new"
[ "$(stat -c %W "$scratch/old")" != 0 ] ||
	cannot "this file system does not tell when a file was born"

mkdir -p here/below/deep other/place
for file in down up kept restored replaced; do
	cp "$scratch/old" here/$file
done
rebooted moved "$tiers" 'for file in down up kept restored replaced; do
		synced here/$file "$1"
	done' "$scratch/new"
mv here/down here/below/deep/gone-down
mv here/up other/place/gone-up

# As a backup does it, and as an editor does.
cp -p here/restored "$scratch/backup"
rm here/restored
cp -p "$scratch/backup" here/restored
echo mine >here/edited
mv here/edited here/replaced

fails_with 5 "$spillway" recover -y --tiers "$tiers" >out 2>err
same_bytes here/below/deep/gone-down "$scratch/new"
same_bytes other/place/gone-up "$scratch/new"
same_bytes here/kept "$scratch/new"
same_bytes here/restored "$scratch/old"
[ "$(cat here/replaced)" = mine ] || fail "written over"
for file in restored replaced; do
	grep -q "$PWD/here/$file: another file has its name, .*W168" err ||
		fail "$(cat err)"
done

# What cannot go home is still there, and is told again.
fails_with 5 "$spillway" recover -y --json --tiers "$tiers" >out 2>err
grep -q '"bytes_left": 600000' out || fail "$(cat out)"
same_bytes here/restored "$scratch/old"
