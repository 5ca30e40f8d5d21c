#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recover-missing.sh -- a file that was removed from the share of a dead job is
# missed by fsck and recover; what else is there comes home

. tests/functions.sh
requires_disk
requires python3 --version
unset SPILLWAY_JOB

mkdir "$scratch/disk"
head -c 300000 /dev/urandom >"$scratch/new"

# robbed KIND: a job fsynced and died, and a file is gone from its share.
robbed()
{
	local kind=$1 tier

	tier=$kind:$(place "$scratch/disk")
	cp "$scratch/new" file
	truncate -s 0 file
	rebooted robbed "ram@16M $tier@256M" \
		'synced file "$1" count=2; synced file "$1" count=5 skip=7 seek=7
		synced file "$1" count=1 skip=1' \
		"$scratch/new"
	"$spillway" fsck --tiers "$tier" >out || fail "$kind: $(cat out)"
	gone=$(find "$scratch/disk" -name '*.log' -o -name '*.object' |
		sort | head -n 1)
	[ -n "$gone" ] || fail "$kind: nothing in the tier"
	mv "$gone" "$scratch/taken"

	fails_with 1 "$spillway" fsck --tiers "$tier" >out 2>err
	grep -q "tier $kind, $gone:0: missing: somebody removed it" err ||
		fail "$kind: fsck: $(cat err)"
	fails_with 1 "$spillway" fsck --json --tiers "$tier" >out 2>err
	python3 - "$gone" <<-'PYTHON'
	import json, sys
	damaged = json.load(open("out"))["shares"][0]["damaged"]
	assert damaged[0]["error"] == "missing", damaged
	assert damaged[0]["where"].startswith(sys.argv[1]), damaged
	PYTHON

	fails_with 5 "$spillway" recover -y --tiers "$tier" >out 2>err
	grep -q "tier $kind, $gone:0: missing: somebody removed it" err ||
		fail "$kind: recover: $(cat out err)"
	fails_with 5 "$spillway" recover -y --json --tiers "$tier" >out 2>err
	python3 -c 'import json; json.load(open("out"))' || fail "$(cat out)"
}

# What was taken is brought back, and nothing is missed any more; nor does it
# come over what is younger.
brought_back()
{
	mv "$scratch/taken" "$gone"
	"$spillway" recover -y --tiers "$1:$scratch/disk" >out 2>&1 ||
		fail "$1: $(cat out)"
	truncate -s 0 want
	dd if="$scratch/new" of=want bs=10000 count=2 status=none
	dd if="$scratch/new" of=want bs=10000 count=5 skip=7 seek=7 status=none
	dd if="$scratch/new" of=want bs=10000 count=1 skip=1 conv=notrunc \
		status=none
	same_bytes file want
	[ -z "$(ls "$scratch/disk")" ] || fail "$1: something is left"
}

given_up()
{
	"$spillway" fsck --repair -y --tiers "$1:$scratch/disk" >out 2>&1 ||
		fail "$1: $(cat out)"
	"$spillway" fsck --tiers "$1:$scratch/disk" >out 2>&1 ||
		fail "$1: $(cat out)"
	"$spillway" recover -y --tiers "$1:$scratch/disk" >out 2>&1 ||
		fail "$1: $(cat out)"
	[ -z "$(ls "$scratch/disk")" ] || fail "$1: something is left"
}

kinds="nvme bb"
[ ! -e "$top_builddir/.libs/tier-pmem.so" ] || kinds="$kinds pmem"
for kind in $kinds; do
	robbed $kind
	brought_back $kind
	robbed $kind
	given_up $kind
done
