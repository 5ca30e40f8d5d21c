#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# tier-stall-start.sh -- a tier that stalls when it is to be opened: commands
# say so and end, and a drainer that takes over does without it

. tests/functions.sh
# Nobody can look at what a thread has that is stuck in a tier.
ASAN_OPTIONS+=:detect_leaks=0
TSAN_OPTIONS+=:report_thread_leaks=0
slow_mount_at tier
tier=$scratch/tier
place=$(place "$tier")

# taken_over KNOB...: the drainer is killed, and the tier stalls then; who takes
# over does without it.
taken_over()
{
	"$spillway" run --tiers "ram@16M nvme:$place@32M" -- \
		"$top_builddir/tests/tier-steps" write:a:1:0:64K:4K fsync:a \
		"call:$scratch/go" write:a:2:0:80K:4K fsync:a check:a:0:80K:4K \
		"save:a:$scratch/a" >"$scratch/out" 2>"$scratch/err" &
	run=$!
	for i in {1..200}; do
		[ ! -e "$scratch/go" ] || break
		sleep 0.05
	done
	program=$(pgrep -P $run)
	at_end "kill -9 $program 2>/dev/null"
	at_end ">'$tier/.slowfs-control'"
	kill -9 $run
	wait $run || :
	printf '%s\n' "$@" >"$tier/.slowfs-control"
	touch "$scratch/go.over"
	for i in {1..300}; do
		kill -0 $program 2>/dev/null || break
		sleep 0.1
	done
	[ $i -lt 300 ] || fail "waits for the tier: $(cat "$scratch/out")"
	grep -qx 'check a = right' "$scratch/out" || fail "$(cat "$scratch/out")"
	[ "$(grep -cx 'fsync a = 0' "$scratch/out")" = 2 ] ||
		fail "$(cat "$scratch/out")"
	timeout 20 "$spillway" drain --wait --timeout 10s || :
	same_bytes "$scratch/a" a
	>"$tier/.slowfs-control"
	"$spillway" drain --wait >/dev/null 2>&1 || [ $? = 3 ]
	rm a "$scratch/go" "$scratch/go.over"
}

set -f
taken_over stall=*
taken_over stall=* stall-statfs=*
set +f
printf 'stall=*\nstall-statfs=*\n' >"$tier/.slowfs-control"
unset SPILLWAY_JOB

# told STATUS COMMAND...
told()
{
	fails_with $1 timeout 15 "$spillway" "${@:2}" >"$scratch/out" 2>&1
	grep -q "tier nvme: $tier: .*does not answer.*\[[EW]11[17]\]" \
		"$scratch/out" ||
		fail "$2: $(cat "$scratch/out")"
}
told 125 run --strict --job other --tiers "ram@16M nvme:$place@32M" -- true
grep -q 'is not used: does not answer' "$scratch/out" ||
	fail "$(cat "$scratch/out")"
told 4 fsck --tiers "nvme:$place"
told 4 recover -y --tiers "nvme:$place"
told 4 clean -y --tiers "nvme:$place"
