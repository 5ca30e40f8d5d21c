#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-handover.sh -- processes that outlive run, and runs that share a job

. tests/functions.sh
unset SPILLWAY_JOB
requires python3 --version

# Twelve runs of one job come and go; one of them drains at a time.
head -c 60000 /dev/urandom >"$scratch/data"
pids=()
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
	"$spillway" run --job many -- sh -c "sleep 0.$((i * 5 % 7))
		dd if='$scratch/data' of=many.$i bs=3000 status=none" &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	wait $pid
done
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
	same_bytes many.$i "$scratch/data"
done

# A child lives on and writes after the program has ended: an agent drains.
"$spillway" run --job on -- python3 -c '
import os, time
f = open("on", "wb", buffering=0)
f.write(b"a" * 50000)
if os.fork() == 0:
    time.sleep(3)
    f.write(b"b" * 50000)
' 2>err
grep -q 'processes of job on live on; agent [0-9]* drains for them' err ||
	fail "$(cat err)"
for ((i = 0; i < 100; i++)); do		# it takes office meanwhile
	"$spillway" status --json on >out
	! grep -q '"drainer": "agent"' out || break
	sleep 0.02
done
grep -q '"drainer": "agent"' out || fail "$(cat out)"
for ((i = 0; i < 200; i++)); do
	compgen -G "$shm_dir/spillway.*/*.seg" >/dev/null || break
	sleep 0.05
done
! compgen -G "$shm_dir/spillway.*/*.seg" >/dev/null || fail "segments are left"
[ "$(tr -d a <on | wc -c)" = 50000 ] || fail "what was written later is lost"

# A run inside a run joins the same job.
spilled sh -c '"$0" run -- dd if="$1" of=inner bs=5000 status=none
	dd if="$1" of=outer bs=5000 status=none' "$spillway" "$scratch/data"
same_bytes inner "$scratch/data"
same_bytes outer "$scratch/data"
counter_is writes_absorbed 24
