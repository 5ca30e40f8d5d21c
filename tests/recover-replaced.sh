#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recover-replaced.sh -- a whole object of another file, of another job or of
# former days lies where one of tier bb was: that one is missed, by fsck and by
# recover, and the other not taken for it

. tests/functions.sh
requires_disk
unset SPILLWAY_JOB
mkdir "$scratch/disk"
tiers="ram@16M bb:$(place "$scratch/disk")@256M"
head -c 10000 /dev/zero | tr '\0' A >"$scratch/A"
head -c 10000 /dev/zero | tr '\0' B >"$scratch/B"
head -c 10000 /dev/zero | tr '\0' C >"$scratch/C"

# Three objects: one of file one, then two of file two.
prepared()
{
	rm -rf "$scratch/disk"/*
	truncate -s 0 one two
	rebooted replaced "$tiers" 'synced one "$1"; synced two "$2"
		synced two "$3"' "$scratch/A" "$scratch/B" "$scratch/C"
	share=$(echo "$scratch/disk"/spillway-*/replaced.*)
	objects=("$share"/*.object)
	[ ${#objects[@]} = 3 ] || fail "${#objects[@]} objects"
	"$spillway" fsck --tiers "$tiers" >out || fail "$(cat out)"
}

missed()
{
	fails_with 1 "$spillway" fsck --tiers "$tiers" >out 2>err
	grep -q ": $1 damaged" out || fail "$(cat out err)"
	grep -q "unknown file: tier bb, .*object:0: damaged.*W169" err ||
		fail "$(cat err)"
	fails_with 5 "$spillway" recover -y --tiers "$tiers" >out 2>err
	"$spillway" fsck --repair -y --tiers "$tiers" >out 2>err ||
		fail "$(cat out err)"
	"$spillway" recover -y --tiers "$tiers" >out 2>err ||
		fail "$(cat out err)"
	[ -z "$(ls "$scratch/disk")" ] || fail "something is left"
}

prepared
cp "${objects[0]}" "${objects[2]}"
missed 1
same_bytes one "$scratch/A"
same_bytes two "$scratch/B"

# An older one of the same file.
prepared
cp "${objects[1]}" "${objects[2]}"
missed 1
same_bytes two "$scratch/B"

# Of another job.
prepared
cp -r "$share" "$scratch/saved"
rm -rf "$scratch/disk"/*
truncate -s 0 two
rebooted other "$tiers" 'synced two "$1"' "$scratch/A"
foreign=$(echo "$scratch/disk"/*/other.*/*.object)
mv "$foreign" "$scratch/foreign"
rm -rf "$scratch/disk"/*/*
mv "$scratch/saved" "$share"
cp "$scratch/foreign" "${objects[2]}"
missed 1
same_bytes two "$scratch/B"

# Two that changed places are both there.
prepared
mv "${objects[0]}" "$scratch/x"
mv "${objects[2]}" "${objects[0]}"
mv "$scratch/x" "${objects[2]}"
"$spillway" fsck --tiers "$tiers" >out 2>&1 || fail "$(cat out)"
"$spillway" recover -y --tiers "$tiers" >out 2>&1 || fail "$(cat out)"
same_bytes one "$scratch/A"
same_bytes two "$scratch/C"
[ -z "$(ls "$scratch/disk")" ] || fail "something is left"
