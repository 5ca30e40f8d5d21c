#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-clean.sh -- what nobody needs goes, what holds bytes does not

. tests/functions.sh
requires_disk
unset SPILLWAY_JOB

mkdir "$scratch/disk"
tiers="ram@16M nvme:$(place "$scratch/disk")@256M"
head -c 300000 /dev/urandom >"$scratch/new"

clean()
{
	"$spillway" clean --tiers "$tiers" "$@"
}

# killed JOB SCRIPT: a job that dies and leaves its segment.
killed()
{
	local status=0

	{ "$spillway" run --job "$1" --drain-delay 60s --tiers "$tiers" -- \
		bash -c "$2; "'kill -9 $PPID $$' bash "$scratch/new" ||
		status=$?; } 2>/dev/null
	[ $status = 137 ] || fail "ended with $status"
}

segments()
{
	(cd "$shm_dir" && echo spillway.*/*.seg)
}

clean -y >out
grep -qx 'nothing to clean' out || fail "$(cat out)"

# A run leaves nothing behind, also where fsync was answered by a tier, once
# or many times.
for flag in conv=fsync oflag=sync; do
	"$spillway" run --tiers "$tiers" --drain-delay 10s -- \
		dd if="$scratch/new" of=file bs=10000 $flag status=none
	same_bytes file "$scratch/new"
	[ -z "$(ls "$scratch/disk")" ] || fail "left: $(find "$scratch/disk")"
done

# Nothing of what is not home goes, in a segment or in a tier.
: >lost
rebooted synced "$tiers" 'synced lost "$1"' "$scratch/new"
killed full 'dd if="$1" of=file bs=10000 status=none'
find "$scratch/disk" "$shm_dir" -type f | sort >files
clean -y -v >out
grep -qx 'nothing to clean' out || fail "$(cat out)"
grep -q '^3 kept' out || fail "$(cat out)"
fails_with 2 clean --force 2>/dev/null
fails_with 3 clean -y --force other 2>/dev/null
find "$scratch/disk" "$shm_dir" -type f | sort | diff files - ||
	fail "removed what is needed"

# An empty share and a segment without need are shown, and go when asked to.
user=$(basename "$scratch"/disk/spillway-*)
mkdir -p "$scratch/disk/$user/old.1"
: >"$scratch/disk/$user/old.1/nvme.lock"
killed idle 'sync'
clean -n >out
[ "$(grep -c 'nothing in it that is not home' out)" = 2 ] || fail "$(cat out)"
[ -d "$scratch/disk/$user/old.1" ] || fail "-n removed something"
fails_with 1 clean </dev/null >out 2>err
[ -d "$scratch/disk/$user/old.1" ] || fail "removed without an answer"
clean -y --json >out
[ "$(grep -c '"removed": true' out)" = 2 ] || fail "$(cat out)"
find "$scratch/disk" "$shm_dir" -type f | sort | diff files - ||
	fail "not what it was before"
[ ! -e "$scratch/disk/$user/old.1" ] || fail "the share is left"

# So does one whose maker died before he joined it; a maker who was only slow
# makes another.
make_one=("$spillway" run --job made -- sh -c 'echo >made')
status=0
{ SPILLWAY_FAILPOINT=seg-linked:1 "${make_one[@]}" || status=$?; } 2>/dev/null
if [ $status = 137 ]; then
	clean -n >out
	grep -q '^segment .*/made.seg: nothing in it' out || fail "$(cat out)"
	clean -y >out
	SPILLWAY_FAILPOINT=seg-linked:1:stop "${make_one[@]}" &
	until [[ $(ps -o stat= $!) = T* ]]; do sleep 0.01; done
	clean -y >out
	grep -q '^segment .*/made.seg' out || fail "$(cat out)"
	kill -CONT $!
	wait $! || fail "ended with $?"
	[ -e made ] || fail "did not run"
fi
find "$scratch/disk" "$shm_dir" -type f | sort | diff files - ||
	fail "not what it was before"

# By name, and given up in so many words.
clean -n --force synced >out
grep -q '^share synced\..* 292 KiB not home, given up' out ||
	fail "$(cat out)"
clean -y --force synced full >out
[ -z "$(ls "$scratch/disk")" ] || fail "left: $(find "$scratch/disk")"
[ "$(segments)" = 'spillway.*/*.seg' ] || fail "left: $(segments)"
clean -y >out
grep -qx 'nothing to clean' out || fail "$(cat out)"

# What lives stays.
"$spillway" run --job alive --tiers "$tiers" -- sh -c 'echo >living
	"$0" clean -y --force --tiers "$1" alive >out' "$spillway" "$tiers"
grep -qx 'nothing to clean' out || fail "$(cat out)"
[ -e living ] || fail "lost"
