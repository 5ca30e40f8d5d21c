#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recover-tiers.sh -- what was fsynced is brought home after the segment is gone

. tests/functions.sh
requires_disk
unset SPILLWAY_JOB

mkdir "$scratch/disk"
tiers="ram@16M nvme:$(place "$scratch/disk")@256M"

recover()
{
	"$spillway" recover -y --tiers "$tiers" "$@"
}

# nothing_left: the shares are gone, and there is nothing to do.
nothing_left()
{
	[ -z "$(ls "$scratch/disk")" ] || fail "left: $(find "$scratch/disk")"
	recover >out
	grep -qx 'nothing to recover' out || fail "$(cat out)"
}

head -c 300000 /dev/urandom >"$scratch/old"
head -c 300000 /dev/urandom >"$scratch/new"

# Every synced byte, sizes that shrank and grew, and the time.
before()
{
	cp "$scratch/old" "$1over"
	cp "$scratch/old" "$1cut"
	cp "$scratch/old" "$1twice"
	: >"$1grown"
}
written='synced "$1over" "$2"
	truncate -s 20000 "$1cut"; synced "$1cut" "$2" count=1 seek=3
	synced "$1grown" "$2"; synced "$1grown" "$2" seek=40
	synced "$1twice" "$2"; synced "$1twice" "$2" skip=3 seek=5 count=4'
before plain-
bash -c 'synced()
{
	dd of="$1" if="$2" bs=10000 conv=notrunc status=none "${@:3}"
}
'"$written" bash plain- "$scratch/new"
before ''
rebooted reboot "$tiers" "$written" '' "$scratch/new"
cmp -s over plain-over && fail "nothing to recover"
fails_with 1 "$spillway" recover --tiers "$tiers" </dev/null >out 2>err
grep -q "^reboot: segment gone, .* in 4 files in the tiers" out ||
	fail "$(cat out)"
grep -q " $PWD/grown$" out || fail "$(cat out)"
cmp -s over plain-over && fail "changed without being asked"
recover >out
grep -q '^reboot: recovered 4 files, .* checksums ok$' out || fail "$(cat out)"
for file in over cut grown twice; do
	same_bytes $file plain-$file
	[ $(($(stat -c %Y $file) - $(stat -c %Y plain-$file))) -lt 60 ] ||
		fail "$file: time"
done
stat -c '%n %s %y %i' over cut grown twice >stat
nothing_left
stat -c '%n %s %y %i' over cut grown twice | diff stat - || fail "changed"

# Two at once; the one that is late may find it in use.
cp "$scratch/old" over
rebooted pair "$tiers" 'synced over "$1"' "$scratch/new"
recover >out.1 2>&1 &
recover >out.2 2>&1 || { grep -q W167 out.2 || fail "$(cat out.2)"; }
wait $! || { grep -q W167 out.1 || fail "$(cat out.1)"; }
same_bytes over "$scratch/new"
nothing_left

# By name, and as JSON.
cp "$scratch/old" over
rebooted named "$tiers" 'synced over "$1"' "$scratch/new"
fails_with 3 recover other 2>/dev/null
recover --json named >out
grep -q '"bytes_recovered": 300000' out || fail "$(cat out)"
grep -q '"recovered": true' out || fail "$(cat out)"
same_bytes over "$scratch/new"
nothing_left

# A file with another name is found; one that is gone keeps its bytes.
cp "$scratch/old" over
cp "$scratch/old" gone
rebooted moved "$tiers" 'synced over "$1"; synced gone "$1" skip=9' "$scratch/new"
mv over renamed
rm gone
cp "$scratch/old" over
fails_with 5 recover >out 2>err
same_bytes renamed "$scratch/new"
same_bytes over "$scratch/old"
grep -q "$PWD/gone: is not there, .*; kept: bytes 0 to 210000.*\[W168\]" err ||
	fail "$(cat err)"
fails_with 5 recover --json >out 2>err
grep -q '"bytes_left": 210000' out || fail "$(cat out)"
rm -r "$scratch"/disk/*

# What was changed later is not written over, unless that is asked for.
cp "$scratch/old" over
cp "$scratch/old" other
rebooted later "$tiers" 'synced over "$1"; synced other "$1"' "$scratch/new"
echo mine >over
touch -d '1 hour' over
fails_with 5 recover >out 2>err
[ "$(cat over)" = mine ] || fail "written over"
same_bytes other "$scratch/new"
grep -q "$PWD/over: was changed by somebody" err || fail "$(cat err)"
grep -q 'spillway recover --force later *\[W168\]' err || fail "$(cat err)"
recover --force later >out
same_bytes over "$scratch/new"
nothing_left

# A damaged piece is named and not written; the others are.
cp "$scratch/old" over
cp "$scratch/old" other
rebooted harm "$tiers" 'synced other "$1"
	synced over "$1" count=1; synced over "$1" count=1 skip=7 seek=7' \
	"$scratch/new"
piece=$(dd if="$scratch/new" bs=10000 skip=7 count=1 status=none |
	head -c 40 | tail -c 20 | od -An -tx1 | tr -d ' \n')
log=$(find "$scratch/disk" -name '*.log')
at=$(od -N 4000000 -An -v -tx1 -w1 "$log" | tr -d ' \n' | grep -bo "$piece" |
	tail -n 1 | cut -d : -f 1)
printf '\0\1\2\3' | dd of="$log" bs=1 seek=$((at / 2)) conv=notrunc status=none
for try in first again; do
	fails_with 5 recover >out 2>err
	grep -q "$PWD/over: bytes 70000 to 80000, tier nvme, .*damaged.*W169" \
		err || fail "$try: $(cat err)"
	same_bytes other "$scratch/new"
	cmp <(head -c 10000 over) <(head -c 10000 "$scratch/new") ||
		fail "$try: the piece that is whole"
	cmp <(tail -c +10001 over) <(tail -c +10001 "$scratch/old") ||
		fail "$try: damaged bytes were written"
done
rm -r "$scratch"/disk/*

# A directory that is not there is said, and a bad list is refused.
mkdir "$scratch/gone"
rmdir "$scratch/gone"
gone=$(place "$scratch/gone")
fails_with 4 "$spillway" recover -y --tiers "nvme:$gone@1G" \
	>out 2>err
grep -q 'cannot look for shares: No such file.*\[E111\]' err ||
	fail "$(cat err)"
fails_with 2 "$spillway" recover -y --tiers "nvme:relative@1G" 2>err
