#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-job-end.sh -- what is written is home before a batch job ends

. tests/functions.sh
requires_disk
unset SPILLWAY_JOB
slow_mount bandwidth=2000000 latency=1
mkdir "$scratch/disk"
head -c 6000000 /dev/urandom >"$scratch/data"
cd "$scratch/slow"

# is_home_soon WITHIN MARGIN: whether a file is home two seconds after it was
# written, of a job that ends in WITHIN.
is_home_soon()
{
	SLURM_JOB_END_TIME=$(($(date +%s) + $1)) timeout 60 "$spillway" run \
		--drain-delay 60s --drain-margin "$2" -- sh -c '
		dd if="$0" of=file bs=100000 count=10 status=none; sleep 3' \
		"$scratch/data" &
	sleep 2
	size=$(stat -c %s "$scratch/slow-back/file")
	wait $!
	rm file
	[ "$size" = 1000000 ]
}

# Nothing rests when the end, less the margin, is near; else it may.
is_home_soon 61 60s || fail "not home when the margin began"
! is_home_soon 600 60s || fail "home although there was time"
is_home_soon 600 10min || fail "not home in a longer margin"

# After SIGTERM there is time to bring home what there is.
terminated()
{
	timeout 60 "$spillway" run --job "$1" --receipt "$receipt" \
		--tiers "ram@16M nvme:$(place "$scratch/disk")@32M" "${@:3}" -- \
		bash -c 'trap "exit 0" TERM
		dd if="$0" of="$1" bs=100000 status=none; echo >"$2"
		for ((i = 0; i < 300; i++)); do sleep 0.1; done' \
		"$scratch/data" "$2" "$scratch/ready" 2>"$scratch/err" &
	for ((i = 0; i < 300; i++)); do
		[ ! -e "$scratch/ready" ] || break
		sleep 0.02
	done
	rm "$scratch/ready"
	kill -TERM $(pgrep -P $!)
	wait $!
}
terminated in-time a --drain-delay 60s || fail "ended with $?: $(cat "$scratch/err")"
same_bytes a "$scratch/data"
counter_is bytes_undrained 0

# What is not is said, in time, and can be found if memory is gone. The agent
# must not be done before it is killed.
knob()
{
	"$top_builddir/tests/tier-steps" "set:$scratch/slow:$1" >/dev/null
}
knob bandwidth=400000
status=0
terminated late b --drain-delay 60s --kill-wait 2s || status=$?
[ $status = 122 ] || fail "ended with $status"
[ "$(counter seconds | cut -d . -f 1)" -lt 4 ] || fail "$(cat "$receipt")"
grep -q 'not home before the job is killed; safe in tiers' "$scratch/err" ||
	fail "$(cat "$scratch/err")"
counter_above bytes_undrained 100000
grep -q '"undrained_durable": true' "$receipt" || fail "$(cat "$receipt")"
agent=$(sed -n 's/.*agent goes on (pid \([0-9]*\)).*/\1/p' "$scratch/err")
kill -KILL "$agent"
knob bandwidth=2000000
rm "$shm_dir"/spillway.*/*.seg
for ((i = 0; i < 100; i++)); do
	"$spillway" recover -y --tiers "nvme:$(place "$scratch/disk")" \
		>"$scratch/out" \
		2>&1 && break
	sleep 0.1
done
same_bytes b "$scratch/data"
