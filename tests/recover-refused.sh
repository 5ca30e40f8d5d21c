#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recover-refused.sh -- a file that is there and cannot be written is named with
# the reason, not as one that is gone

. tests/functions.sh
requires_disk
unset SPILLWAY_JOB

mkdir "$scratch/disk"
tiers="ram@16M nvme:$(place "$scratch/disk")@64M"
tail -c +2 "$(command -v sleep)" >"$scratch/new"

# killed: a job that is killed and leaves bytes of a program that is run then,
# which nobody may write meanwhile.
killed()
{
	cp "$(command -v sleep)" program
	"$1" refused "$tiers" "$2" "$scratch/new"
	./program 60 &
	program=$!
	until [ /proc/$program/exe -ef program ]; do
		sleep 0.05
	done
}

let_write()
{
	kill $program
	wait $program || :
}

recover()
{
	"$spillway" recover -y --tiers "$tiers" >out 2>err
}

# Bytes in the tiers, the segment gone.
killed rebooted 'synced program "$1"'
at_end 'kill $program 2>/dev/null'
fails_with 5 recover
grep -q "$PWD/program: Text file busy; kept: .*W168" err || fail "$(cat err)"
"$spillway" clean -n --tiers "$tiers" >out
! grep -q "none of its files" out || fail "$(cat out)"
let_write
recover
cmp -n "$(stat -c %s "$scratch/new")" program "$scratch/new" || fail "not home"

# Bytes in a segment.
left()
{
	local status=0

	{ "$spillway" run --job "$1" --drain-delay 60s --tiers "$2" -- bash -c \
		"$3"'; kill -9 $PPID $$' bash "${@:4}" || status=$?; } \
		2>/dev/null
	[ $status = 137 ] || fail "ended with $status"
}
killed left 'dd of=program if="$1" conv=notrunc status=none'
fails_with 5 recover
grep -q "job refused: Text file busy; the segment is kept" err ||
	fail "$(cat err)"
let_write
recover
cmp -n "$(stat -c %s "$scratch/new")" program "$scratch/new" || fail "not home"
