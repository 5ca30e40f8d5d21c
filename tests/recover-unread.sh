#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recover-unread.sh -- a piece that cannot be read now is told by fsck, is not
# taken for a damaged one, and is not put over younger ones when it can be again

. tests/functions.sh
requires python3 --version
unset SPILLWAY_JOB
slow_mount_at tier
tier=$scratch/tier
head -c 40000 /dev/zero | tr '\0' A >"$scratch/A"
head -c 40000 /dev/zero | tr '\0' B >"$scratch/B"

fsck()
{
	"$spillway" fsck --tiers "$tiers" "$@" >out 2>err
}

# unread KIND OBJECTS: the first file of the share, of several or of the only
# one, cannot be read, and then it can; so many pieces are seen meanwhile.
unread()
{
	local kind=$1 part

	tiers="ram@16M $kind:$(place "$tier")@256M"
	truncate -s 0 a b
	rebooted unread "$tiers" 'synced a "$1" count=2; synced b "$1" count=1
		synced a "$2" count=1; synced b "$2" count=2' \
		"$scratch/A" "$scratch/B"
	fsck || fail "$kind: $(cat out err)"
	part=$(find "$tier"/spillway-* -name '*.object' -o -name '*.log' |
		sort | head -n 1)
	echo "eio-read=${part#"$tier/"}" >>"$tier/.slowfs-control"

	fails_with 5 fsck
	grep -q "tier $kind, $part:0: Input/output error" err ||
		fail "$kind: $(cat err)"
	[ $kind != bb ] || grep -q '4 objects.*: 1 damaged' out ||
		fail "$kind: $(cat out)"
	fails_with 5 fsck --json
	python3 - <<-'PYTHON' || fail "$kind: $(cat out)"
	import json
	share, = json.load(open("out"))["shares"]
	assert share["damaged"][0]["error"] == "Input/output error"
	PYTHON
	fails_with 5 fsck --repair -y
	[ -e "$part" ] || fail "$kind: repair removed what may be well"

	fails_with 5 "$spillway" recover -y --tiers "$tiers" >out 2>err
	grep -q 'unread: recovered' out || fail "$kind: $(cat out err)"
	[ $kind != bb ] ||
		{ same_bytes <(head -c 10000 a) <(head -c 10000 "$scratch/B")
		grep -q 'all of its pieces stay' err || fail "$(cat err)"; }
	fails_with 5 "$spillway" recover -y --json --tiers "$tiers" >out 2>err
	python3 -c 'import json; json.load(open("out"))' || fail "$(cat out)"

	>"$tier/.slowfs-control"
	"$spillway" recover -y --tiers "$tiers" >out 2>&1 ||
		fail "$kind: $(cat out)"
	same_bytes a <(head -c 10000 "$scratch/B"; head -c 10000 "$scratch/A")
	same_bytes b <(head -c 20000 "$scratch/B")
	[ -z "$(ls "$tier")" ] || fail "$kind: something is left"
}

kinds="bb nvme"
! "$spillway" version --features | grep -q '^tiers.* pmem ' || kinds+=" pmem"
for kind in $kinds; do
	unread $kind
done

# One that nobody but root may read, beside others.
admit_nobody || exit 0
mkdir -m 777 "$scratch/disk"
tiers="ram@16M bb:$(place "$scratch/disk")@256M"
chmod 644 "$scratch/A"
nobodys()
{
	"${nobody[@]}" SPILLWAY_SHM_DIR="$shm_dir" "$spillway" "$1" \
		--tiers "$tiers" "${@:2}" >"$scratch/out" 2>"$scratch/err"
}
nobody=(env "PATH=/usr/bin:/bin" setpriv --reuid 65534 --clear-groups env)
nobodys run --job denied --drain-delay 60s -- bash -c '
	dd of=c if="$0" bs=10000 count=1 conv=fsync status=none
	dd of=d if="$0" bs=10000 count=1 conv=fsync status=none
	kill -9 $PPID $$' "$scratch/A" || :
rm "$shm_dir"/spillway.65534/*.seg
nobodys fsck || fail "denied: $(cat "$scratch/out" "$scratch/err")"
part=$(find "$scratch/disk" -name '*.object' | sort | head -n 1)
chmod 0 "$part"
fails_with 5 nobodys fsck
grep -q "tier bb, $part:0: Permission denied" "$scratch/err" ||
	fail "denied: $(cat "$scratch/err")"
grep -q '2 objects.*: 1 damaged' "$scratch/out" ||
	fail "denied: $(cat "$scratch/out")"
chmod 600 "$part"
nobodys recover -y || fail "denied: $(cat "$scratch/out" "$scratch/err")"
same_bytes c <(head -c 10000 "$scratch/A")
same_bytes d <(head -c 10000 "$scratch/A")
