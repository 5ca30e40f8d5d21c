#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-claimed.sh -- a file that a dead job had claimed is made safe in tiers,
# and kept there, as any other

. tests/functions.sh
requires_disk
unset SPILLWAY_JOB
slow_mount bandwidth=2000000 latency=1
mkdir "$scratch/disk"
tiers="ram@16M nvme:$(place "$scratch/disk")@64M"
head -c 6000000 /dev/urandom >"$scratch/data"

# claimed FILE: a job died that had it open, and had not written yet. Who opens
# it next finds the claim.
claimed()
{
	{ "$spillway" run --job "dead-$1" --drain-delay 60s -- \
		bash -c 'exec 3>>"$1"; kill -9 $PPID $$' bash "$1" ||
		:; } 2>/dev/null
	compgen -G "$shm_dir/spillway.*/dead-$1.seg" >/dev/null ||
		fail "$1: not claimed"
}

# After SIGTERM: safe, although some of it goes home meanwhile.
cd "$scratch/slow"
claimed a
timeout 60 "$spillway" run --receipt "$receipt" --tiers "$tiers" \
	--drain-delay 60s --kill-wait 2s -- bash -c 'trap "sleep 0.5; exit" TERM
	dd if="$0" of=a bs=100000 conv=notrunc status=none; echo >"$1"
	for ((i = 0; i < 300; i++)); do sleep 0.1; done' \
	"$scratch/data" "$scratch/ready" 2>"$scratch/err" &
for ((i = 0; i < 300; i++)); do
	[ ! -e "$scratch/ready" ] || break
	sleep 0.02
done
kill -TERM $(pgrep -P $!)
wait $! || :
agent=$(sed -n 's/.*agent goes on (pid \([0-9]*\)).*/\1/p' "$scratch/err")
[ -n "$agent" ] || fail "all is home: $(cat "$scratch/err")"
kill -KILL "$agent"
counter_above bytes_home 0
counter_above bytes_undrained 100000
grep -q '"undrained_durable": true' "$receipt" || fail "$(cat "$receipt")"
rm -f "$shm_dir"/spillway.*/*.seg
for ((i = 0; i < 100; i++)); do		# its last write may be on its way
	"$spillway" recover -y --tiers "$tiers" >"$scratch/out" 2>&1 && break
	sleep 0.1
done
same_bytes a "$scratch/data"

# Kept: nothing of it is home.
mkdir "$scratch/work"
cd "$scratch/work"
claimed b
"$spillway" run --tiers "$tiers" --at-exit keep -- \
	dd if="$scratch/data" of=b bs=100000 conv=notrunc status=none 2>"$scratch/err"
! grep W118 "$scratch/err" || fail "not kept"
[ $(stat -c %b b) -lt 1000 ] || fail "it is home"
"$spillway" stage out --tiers "$tiers" b >"$scratch/out" 2>&1 ||
	fail "$(cat "$scratch/out")"
same_bytes b "$scratch/data"
