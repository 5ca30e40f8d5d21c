#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recover-unmounted.sh -- a tier is not there when a job is recovered: what the
# other has comes home, and is not written over when the first is there again

. tests/functions.sh
requires_disk
unset SPILLWAY_JOB
mkdir "$scratch/one" "$scratch/two"
one=bb:$(place "$scratch/one")@25000B two=bb:$(place "$scratch/two")@64M
head -c 20000 /dev/zero | tr '\0' A >"$scratch/A"
head -c 20000 /dev/zero | tr '\0' B >"$scratch/B"

# The younger bytes are in the second tier, since the first has no room.
divided()
{
	truncate -s 0 file
	rebooted divided "ram@16M $one $two" 'synced file "$1" count=2
		synced file "$2" count=1' "$scratch/A" "$scratch/B"
	[ -n "$(find "$scratch/one" -name '*.object')" ] &&
		[ -n "$(find "$scratch/two" -name '*.object')" ] ||
		fail "not divided"
	mv "$scratch/one" "$scratch/one.away"
}

divided
fails_with 5 "$spillway" recover -y --tiers "$one $two" >out 2>err
grep -q 'cannot look for shares' err || fail "$(cat err)"
grep -q 'all of its pieces stay' err || fail "$(cat err)"
same_bytes <(head -c 10000 file) <(head -c 10000 "$scratch/B")
mv "$scratch/one.away" "$scratch/one"
"$spillway" recover -y --tiers "$one $two" >out 2>err || fail "$(cat out err)"
same_bytes file <(head -c 10000 "$scratch/B"; tail -c 10000 "$scratch/A")
[ -z "$(ls "$scratch/one" "$scratch/two" | grep spillway)" ] || fail "left"

# It is given up by not being named.
divided
fails_with 5 "$spillway" recover -y --tiers "$one $two" >out 2>err
"$spillway" recover -y --tiers "$two" >out 2>err || fail "$(cat out err)"
[ -z "$(ls "$scratch/two")" ] || fail "left"
