#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-at-exit-agent.sh -- a run that leaves what is not home to an agent

. tests/functions.sh
unset SPILLWAY_JOB
slow_mount bandwidth=2000000
mkdir "$scratch/disk"
head -c 12000000 /dev/urandom >"$scratch/data"
cd "$scratch/slow"

# wait_until_gone JOB: its agent has brought all home and left.
wait_until_gone()
{
	timeout 30 "$spillway" drain --wait "$1" >/dev/null 2>&1 || :
	for ((i = 0; i < 200; i++)); do
		[ -e "$shm_dir/spillway.$(id -u)/$1.seg" ] || return 0
		sleep 0.05
	done
	fail "the segment of $1 is left"
}

# It returns at once, with the program's status and what is left as of now.
for status in 0 4; do
	SECONDS=0
	spilled_flags=(--at-exit agent --job left$status)
	fails_with $status spilled sh -c 'dd if="$0" of=file$1 bs=100000 \
		status=none; exit $1' "$scratch/data" $status 2>"$scratch/err"
	[ $SECONDS -lt 5 ] || fail "it took $SECONDS s"
	grep -Eq 'MiB in 1 file not home yet, agent [0-9]+ goes on: '\
"spillway drain --wait left$status" "$scratch/err" ||
		fail "$(cat "$scratch/err")"
	counter_above bytes_undrained 100000
	counter_is exit_status $status
done
for status in 0 4; do
	wait_until_gone left$status
	same_bytes file$status "$scratch/data"
done

# With nothing left there is no agent and no word.
cd "$scratch/home"
export SPILLWAY_AT_EXIT=agent
spilled_flags=(--job none --drain-delay 0)
spilled true 2>err
[ ! -s err ] || fail "$(cat err)"
! compgen -G "$shm_dir/spillway.*/*.seg" >/dev/null || fail "segments are left"

# What an agent holds is made safe, then brought home, when it is told to end.
cd "$scratch/slow"
spilled_flags=(--tiers "ram@16M nvme:$(place "$scratch/disk")@32M" --job told)
spilled dd if="$scratch/data" of=told bs=100000 status=none 2>"$scratch/err"
agent=$(sed -n 's/.*agent \([0-9]*\) goes on.*/\1/p' "$scratch/err")
for ((i = 0; i < 200; i++)); do
	"$spillway" status --json told >"$scratch/status"
	! grep -q "\"drainer_pid\": $agent" "$scratch/status" || break
	sleep 0.02
done
kill -TERM "$agent"
wait_until_gone told
same_bytes told "$scratch/data"
[ -z "$(ls "$scratch/disk")" ] || fail "left: $(find "$scratch/disk")"
