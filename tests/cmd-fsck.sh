#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-fsck.sh -- damage in a tier is found, named and, when asked, removed

. tests/functions.sh
requires_disk
unset SPILLWAY_JOB

mkdir "$scratch/disk"
tiers="ram@16M nvme:$(place "$scratch/disk")@256M"
head -c 300000 /dev/urandom >"$scratch/old"
head -c 300000 /dev/urandom >"$scratch/new"

check()
{
	"$spillway" fsck --tiers "$tiers" "$@"
}

# flip BLOCK: changes the last copy of the 10000 bytes from there on.
flip()
{
	local piece log at

	piece=$(dd if="$scratch/new" bs=10000 skip=$1 count=1 status=none |
		head -c 20 | od -An -tx1 | tr -d ' \n')
	log=$(find "$scratch/disk" -name '*.log')
	at=$(od -N 4000000 -An -v -tx1 -w1 "$log" | tr -d ' \n' | grep -bo "$piece" |
		tail -n 1 | cut -d : -f 1)
	printf '\0\1' | dd of="$log" bs=1 seek=$((at / 2 + 4000)) \
		conv=notrunc status=none
}

check >out
grep -qx 'checked 0 segments, 0 objects, 0 B in the tiers: 0 damaged' out ||
	fail "$(cat out)"

# Beside a job that lives, too.
cp "$scratch/old" file
mkfifo go
"$spillway" run --tiers "$tiers" --drain-delay 60s -- bash -c '
	dd of=file if="$1" bs=10000 conv=notrunc,fsync status=none
	: >ready; read <go || :' bash "$scratch/new" &
while [ ! -e ready ]; do
	sleep 0.05
done
check >out
check --repair -y >>out
check --json | grep -q '"in_use": true' || fail "not in use"
: >go
wait $!
[ "$(grep -c 'checked 1 segment, [1-9].* object.*: 0 damaged' out)" = 2 ] ||
	fail "$(cat out)"
same_bytes file "$scratch/new"

cp "$scratch/old" file
rebooted harm "$tiers" 'synced file "$1" count=2; synced file "$1" count=5 \
	skip=7 seek=7' "$scratch/new"
find "$scratch/disk" -type f -exec cksum {} + >sums
check >out
grep -q '2 objects, .*: 0 damaged' out || fail "$(cat out)"
find "$scratch/disk" -type f -exec cksum {} + | diff sums - || fail "changed"

flip 7
find "$scratch/disk" -type f -exec cksum {} + >sums
fails_with 1 check >out 2>err
grep -q '2 objects, .*: 1 damaged' out || fail "$(cat out)"
grep -q "$PWD/file: bytes 70000 to 120000, tier nvme, .*damaged.*W169" err ||
	fail "$(cat err)"
fails_with 1 check --json harm >out 2>err
grep -q '"offset": 70000' out || fail "$(cat out)"
grep -q '"damaged": 1' out || fail "$(cat out)"
grep -q '"in_use": false' out || fail "in use: $(cat out)"
fails_with 3 check other 2>/dev/null

# Without an answer nothing goes; then that and nothing else.
fails_with 5 check --repair </dev/null >out 2>err
grep -q 'nothing was changed' err || fail "$(cat err)"
check --repair -y >out 2>err
grep -q ': 1 damaged, 1 removed' out || fail "$(cat out)"
check >out
grep -q '1 object, .*: 0 damaged' out || fail "$(cat out)"
"$spillway" recover -y --tiers "$tiers" >out
cmp <(head -c 20000 file) <(head -c 20000 "$scratch/new") || fail "lost"
cmp <(tail -c +20001 file) <(tail -c +20001 "$scratch/old") || fail "written"
[ -z "$(ls "$scratch/disk")" ] || fail "left: $(find "$scratch/disk")"

# A file of the tier without its head is one piece of damage.
rebooted headless "$tiers" 'synced file "$1" count=2' "$scratch/new"
dd if=/dev/urandom of="$(find "$scratch/disk" -name '*.log')" bs=8k count=1 \
	conv=notrunc status=none
fails_with 1 check >out 2>err
grep -q 'an unknown file: tier nvme, .*: damaged' err || fail "$(cat err)"
check --repair -y >out 2>err
check >out || fail "$(cat out)"

# One that was cut short has what lies before that.
cut_short()
{
	cp "$scratch/old" file
	rebooted short "$tiers" 'synced file "$1" count=1; synced file "$1" \
		count=5 skip=7 seek=7' "$scratch/new"
	truncate -s 40000 "$(find "$scratch/disk" -name '*.log')"
	fails_with 1 check >out 2>err
}
cut_short
fails_with 5 "$spillway" recover -y --tiers "$tiers" >out 2>err
grep -q 'short: recovered 1 file, ' out || fail "$(cat out err)"
cmp <(head -c 10000 file) <(head -c 10000 "$scratch/new") || fail "lost"
check --repair -y >out 2>err || fail "$(cat out err)"
"$spillway" recover -y --tiers "$tiers" >out 2>err || fail "$(cat out err)"
[ -z "$(ls "$scratch/disk")" ] || fail "left: $(find "$scratch/disk")"

cut_short
check --repair -y >out 2>err || fail "$(cat out err)"
check --repair -y >out 2>err || fail "$(cat out err)"
grep -q '1 object, .*: 0 damaged' out || fail "$(cat out)"
"$spillway" recover -y --tiers "$tiers" >out
cmp <(head -c 10000 file) <(head -c 10000 "$scratch/new") || fail "lost"
[ -z "$(ls "$scratch/disk")" ] || fail "left: $(find "$scratch/disk")"

# A log that is all zeros, or empty, had a head once: it is not taken for one
# that was being made, which goes without a word.
for size in whole 0; do
	cp "$scratch/old" file
	rebooted blank "$tiers" 'synced file "$1" count=2' "$scratch/new"
	log=$(find "$scratch/disk" -name '*.log')
	[ $size = 0 ] || size=$(stat -c %s "$log")
	truncate -s 0 "$log"
	truncate -s $size "$log"
	head -c 70000 /dev/zero >"${log%0.log}1.log.new"
	fails_with 1 check >out 2>err
	fails_with 5 "$spillway" recover -y --tiers "$tiers" >out 2>err
	check --repair -y >out 2>err || fail "$(cat out err)"
	grep -q ': 1 damaged, 1 removed' out || fail "$(cat out err)"
	"$spillway" recover -y --tiers "$tiers" >out 2>err ||
		fail "$(cat out err)"
	[ -z "$(ls "$scratch/disk")" ] || fail "left: $(find "$scratch/disk")"
done

# Something else under the name of a file of the tier keeps nobody from what is
# in the others; nor does a second name of one of these.
for kind in nvme:nvme-00000007.log pmem:pmem-0007.log \
	bb:01234567-00000007.object; do
	[ $kind != pmem:pmem-0007.log ] ||
		"$spillway" version --features | grep -q '^tiers.* pmem ' ||
		continue
	tiers="ram@16M ${kind%%:*}:$(place "$scratch/disk")@256M"
	cp "$scratch/old" file
	rebooted strange "$tiers" 'synced file "$1" count=2' "$scratch/new"
	share=$(echo "$scratch/disk"/spillway-*/strange.*)
	for part in "$share"/*[0-9].*; do
		ln "$part" "$scratch/$(basename "$part")"
	done
	ln -s "$scratch/old" "$share/${kind#*:}"
	fails_with 1 check >out 2>err
	grep -q "an unknown file: tier .*/${kind#*:}:0: damaged" err ||
		fail "$(cat err)"
	fails_with 5 "$spillway" recover -y --tiers "$tiers" >out 2>err
	grep -q 'strange: recovered 1 file, ' out || fail "$(cat out err)"
	cmp <(head -c 20000 file) <(head -c 20000 "$scratch/new") ||
		fail "$kind: lost"
	check --repair -y >out 2>err || fail "$(cat out err)"
	mkdir "$share/${kind#*:}"
	fails_with 1 timeout 30 "$spillway" fsck --tiers "$tiers" >out 2>err
	grep -q "tier .*/${kind#*:}:0: damaged" err || fail "$(cat err)"
	fails_with 5 timeout 30 "$spillway" fsck --repair -y \
		--tiers "$tiers" >out 2>err
	rmdir "$share/${kind#*:}"
	mkfifo "$share/${kind#*:}"
	fails_with 1 timeout 30 "$spillway" fsck --tiers "$tiers" >out 2>err
	check --repair -y >out 2>err || fail "$(cat out err)"
	"$spillway" recover -y --tiers "$tiers" >out 2>err ||
		fail "$(cat out err)"
	[ -z "$(ls "$scratch/disk")" ] || fail "left: $(find "$scratch/disk")"
done
tiers="ram@16M nvme:$(place "$scratch/disk")@256M"

# Nor does what has taken the place of the notes of a tier hide anything.
for make in 'ln -s nowhere' mkdir mkfifo; do
	cp "$scratch/old" file
	rebooted notes "$tiers" 'synced file "$1"' "$scratch/new"
	share=$(echo "$scratch/disk"/spillway-*/notes.*)
	rm "$share/nvme.drops"
	$make "$share/nvme.drops"
	timeout 20 "$spillway" fsck --tiers "$tiers" >out 2>err ||
		fail "$make: $(cat out err)"
	grep -q ', [1-9].* object.*: 0 damaged' out || fail "$make: $(cat out)"
	timeout 20 "$spillway" recover -y --tiers "$tiers" >out 2>err ||
		fail "$make: $(cat out err)"
	same_bytes file "$scratch/new"
	[ -z "$(ls "$scratch/disk")" ] || fail "left: $(find "$scratch/disk")"
done

# A segment that cannot be read.
dir=$(echo "$shm_dir"/spillway.*)
head -c 100000 /dev/urandom >"$dir/broken.seg"
chmod 600 "$dir/broken.seg"
fails_with 1 check >out 2>err
grep -q 'broken: damaged *\[W161\]' err || fail "$(cat err)"
