#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-recover.sh -- what a killed job left is reported, kept, and brought home

. tests/functions.sh
unset SPILLWAY_JOB

# await_death JOB: its drainer was killed first, and the program may still be
# about to die.
await_death()
{
	until "$spillway" status --json "$1" | grep -q '"state": "dead"'; do
		sleep 0.05
	done
}

# killed JOB FILE: a job whose program and drainer die with bytes not home.
killed()
{
	local status=0

	"$spillway" run --job "$1" --drain-delay 60s -- bash -c '
		dd if="$0" of="$1" bs=10000 status=none
		kill -9 $PPID $$' "$scratch/data" "$2" || status=$?
	[ $status = 137 ] || fail "ended with $status"
	await_death "$1"
}

head -c 300000 /dev/urandom >"$scratch/data"
odd=$'odd \e[31mname\n\xff'
killed dead "$odd" 2>/dev/null
[ "$(stat -c %s "$odd")" -lt 300000 ] || fail "nothing to recover"

# status shows it, escaped names only, and JSON stays JSON.
"$spillway" status >out
grep -q '^dead *dead ' out || fail "$(cat out)"
"$spillway" status --json dead >out
grep -q '"state": "dead"' out || fail "$(cat out)"
grep -q '"dirty_bytes": 300000' out || fail "$(cat out)"

# Reported at the next start; its name is not taken again.
"$spillway" run --job dead -- sh -c 'echo $SPILLWAY_JOB' >out 2>err
grep -q 'left over from a dead job: 292 KiB in 1 file not home' err ||
	fail "$(cat err)"
grep -q 'spillway recover dead .*\[W160\]' err || fail "$(cat err)"
[ "$(cat out)" = dead.1 ] || fail "took the name $(cat out)"

# Without an answer it only lists.
fails_with 1 "$spillway" recover </dev/null >out 2>err
grep -q '292 KiB  /.*odd \\x1b\[31mname\\x0a\\xff' out || fail "$(cat out)"
[ "$(stat -c %s "$odd")" -lt 300000 ] || fail "changed without being asked"

# Twice at once: one does it, nobody harms.
"$spillway" recover -y >out.1 2>&1 &
"$spillway" recover -y >out.2 2>&1 || :
wait $! || :
grep -q 'recovered 1 file, 292 KiB, checksums ok' out.1 out.2 ||
	fail "$(cat out.1 out.2)"
same_bytes "$odd" "$scratch/data"
"$spillway" recover -y >out
grep -q 'nothing to recover' out || fail "$(cat out)"
! compgen -G "$shm_dir/spillway.*/*.seg" >/dev/null || fail "segments are left"

# Several, as JSON.
killed one a 2>/dev/null
killed two b 2>/dev/null
"$spillway" recover -y --json >out
[ "$(grep -c '"recovered": true' out)" = 2 ] || fail "$(cat out)"
[ "$(grep -c '"bytes_verified": 300000' out)" = 2 ] || fail "$(cat out)"
same_bytes a "$scratch/data"
same_bytes b "$scratch/data"

# A home that is gone is named, and the segment is kept.
mkdir lost
killed gone lost/file 2>/dev/null
mv lost/file lost/renamed
"$spillway" recover -y gone >out
same_bytes lost/renamed "$scratch/data"

# drain does it too, where no drainer lives.
killed drained c 2>/dev/null
"$spillway" drain --wait drained >out
grep -q 'drained 292 KiB' out || fail "$(cat out)"
same_bytes c "$scratch/data"

# What cannot be read is named and left alone.
dir=$(echo "$shm_dir"/spillway.*)
head -c 100000 /dev/urandom >"$dir/broken.seg"
chmod 600 "$dir/broken.seg"
sum=$(cksum <"$dir/broken.seg")
fails_with 1 "$spillway" recover -y >out 2>err
grep -q 'broken: damaged  *\[W161\]' err || fail "$(cat err)"
[ "$(cksum <"$dir/broken.seg")" = "$sum" ] || fail "touched"
"$spillway" status >out
grep -q '^broken  unreadable: damaged' out || fail "$(cat out)"
"$spillway" run -- true 2>err
grep -q 'broken.seg: damaged; left alone' err || fail "$(cat err)"
# A living job is not recovered, and that is said.
rm "$dir/broken.seg"
mkfifo written go
"$spillway" run --job alive --drain-delay 60s -- sh -c '
	dd if=/dev/zero of=d count=1 status=none
	echo >written; read -r line <go' &
read -r line <written
"$spillway" recover -y >out
grep -q '^segment alive: alive, 512 B in 1 file not home' out ||
	fail "$(cat out)"
fails_with 1 "$spillway" recover -y alive 2>err
grep -q '\[E164\]' err || fail "$(cat err)"
"$spillway" status --json >status
grep -q '"state": "live"' status || fail "$(cat status)"
echo >go
wait $!

# What takes longer is seen on a terminal while it goes on, and nowhere else.
requires python3 --version
slow_mount bandwidth=1500000
for where in terminal pipe; do
	"$spillway" run --job slow --include "$scratch/slow" \
		--drain-delay 60s -- bash -c 'cd "$0" && dd if=/dev/zero \
		of=f bs=100000 count=40 status=none; kill -9 $PPID $$' \
		"$scratch/slow" 2>/dev/null || :
	await_death slow
	if [ $where = terminal ]; then
		python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' \
			"$spillway" recover -y slow >out
		grep -q 'recover slow .*B of 3.8 MiB  .*/s  ETA [0-9]* s' out ||
			fail "no progress is seen: $(cat out)"
	else
		"$spillway" recover -y slow >out 2>err
		! grep -q ETA out err || fail "progress: $(cat out err)"
	fi
	[ "$(stat -c %s "$scratch/slow/f")" = 4000000 ] || fail "$(cat out)"
done

# Another one may be faster with what is listed: it says what is left there.
for job in first second; do
	{ "$spillway" run --job $job --include "$scratch/slow" \
		--drain-delay 60s -- bash -c 'cd "$0" && dd if=/dev/zero \
		of=$1 bs=100000 count=40 status=none; kill -9 $PPID $$' \
		"$scratch/slow" $job || :; } 2>/dev/null
	await_death $job
done
"$spillway" recover -y --json first second >json 2>err &
until [ "$(stat -c %s "$scratch/slow/first")" -gt 0 ]; do
	sleep 0.02
done
"$spillway" recover -y second >out &
wait %1 && fail "all was its own: $(cat json)"
wait
python3 - <<'PYTHON' || fail "$(cat json err)"
import json
first, second = json.load(open("json"))["segments"]
assert first["recovered"] and first["bytes_left"] == 0, first
assert not second["recovered"] and second["bytes_left"] > 0, second
assert second["error"] == "another process is draining it", second
PYTHON

# Who starts us may not want to hear of children.
env --ignore-signal=CHLD "$spillway" recover -y >/dev/null ||
	fail "nothing to recover, and that ended with $?"
