#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# below-tier-quota.sh -- a tier whose quota is used up in the middle of a drain
# or an fsync: the next one takes what is left, or home, and nothing is lost

. tests/functions.sh
requires_disk
unset SPILLWAY_JOB
slow_mount bandwidth=20000000
slow_mount_at tier
mount=$scratch/slow tier=$scratch/tier
mkdir "$scratch/next"
cd "$mount"

# steps NAME STEP...: what they print goes to $scratch/out.
steps()
{
	timeout 60 "$spillway" run --receipt "$receipt" --tiers "$tiers" \
		--include "$mount" -- "$top_builddir/tests/tier-steps" "${@:2}" \
		>"$scratch/out" 2>"$scratch/err" ||
		fail "$1: ended with $?: $(cat "$scratch/err")"
	! grep -v '= 0$\|= right$' "$scratch/out" || fail "$1: wrong"
	counter_is bytes_undrained 0
	same_bytes "$scratch/a" a
	rm a
	>"$tier/.slowfs-control"
}

# used_up NAME: the tier has some of it already, and takes nothing more, or a
# little.
used_up()
{
	for left in $lefts; do
		steps "$1, $left" open:a write:a:1:0:2M:256K fsync:a \
			"set:$tier:edquot-after=$left" \
			write:a:2:1M:24M:256K fsync:a check:a:0:25M:256K \
			write:a:3:1000:2M:10000 fsync:a check:a:0:25M:256K \
			"save:a:$scratch/a" close:a
	done
}

lefts="0 4000000"
kinds="nvme bb"
[ ! -e "$top_builddir/.libs/tier-pmem.so" ] || kinds="$kinds pmem"
for kind in $kinds; do
	tiers="ram@16M $kind:$(place "$tier")@128M"
	used_up "$kind, home"
	tiers="$tiers nvme:$(place "$scratch/next")@128M"
	used_up "$kind, next"
	counter_above bytes_down 3000000
	[ "${SPILLWAY_CHECK_LONG:-}" = 1 ] || lefts=300000
done

# What was promised before is in the tier, and found there when the job is
# killed after its quota was used up.
for kind in $kinds; do
	tiers="ram@16M $kind:$(place "$tier")@128M"
	tiers="$tiers nvme:$(place "$scratch/next")@128M"
	timeout 60 "$spillway" run --job killed --drain-delay 60s \
		--tiers "$tiers" --include "$mount" -- \
		"$top_builddir/tests/tier-steps" open:a write:a:1:0:4M:256K fsync:a \
		"set:$tier:edquot-after=1000000" \
		write:a:2:1M:12M:256K fsync:a "save:a:$scratch/a" \
		"call:$scratch/go" >"$scratch/out" 2>"$scratch/err" &
	run=$!
	for i in {1..300}; do
		[ ! -e "$scratch/go" ] || break
		sleep 0.1
	done
	[ -e "$scratch/go" ] || fail "$kind: $(cat "$scratch/out" "$scratch/err")"
	pids=$(pgrep -P $run)
	kill -9 $(for pid in $pids; do pgrep -P $pid; done) $pids
	>"$tier/.slowfs-control"
	wait $run 2>/dev/null || :
	[ "$(grep -cx 'fsync a = 0' "$scratch/out")" = 2 ] ||
		fail "$kind: $(cat "$scratch/out")"
	rm "$shm_dir"/spillway.*/*.seg
	# What was cut short was not relied on, and is not damaged.
	for i in {1..100}; do
		status=0
		"$spillway" recover -y --tiers "$tiers" >"$scratch/out" 2>&1 ||
			status=$?
		! cmp -s "$scratch/a" a || break
		sleep 0.1
	done
	[ $status = 0 ] || fail "$kind: $status: $(cat "$scratch/out")"
	same_bytes "$scratch/a" a
	rm a "$scratch/go"
done
