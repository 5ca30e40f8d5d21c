#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# below-stall.sh -- a tier that answers nobody holds up those who need what it
# has, and nobody else; when it answers again, all is well

. tests/functions.sh
slow_mount bandwidth=5000000 latency=1
slow_mount_at tier
mount=$scratch/slow tier=$scratch/tier
cd "$mount"

# stalled_in KNOB TIER: most of a is below when the tier stalls, since home
# stood still while it was written; all that is done to b meanwhile ends before
# the tier answers again.
stalled_in()
{
	local status=0 began

	spilled_flags=(--tiers "ram@16M $2:$(place "$tier")@128M"
		--include "$mount")
	spilled timeout 100 "$top_builddir/tests/tier-steps" open:a open:b \
		"set:$mount:stall=*" write:a:1:0:28M:256K "set:$mount:stall=" \
		"set:$tier:$1" write:b:2:0:18M:256K \
		fsync:b check:b:0:18M:256K write:b:3:100:4M:10000 fsync:b \
		write:a:4:0:1M:64K check:a:0:1M:64K "call:$scratch/other" \
		check:a:0:28M:64K fsync:a close:a close:b \
		"save:a:$scratch/a" "save:b:$scratch/b" \
		>"$scratch/out" 2>"$scratch/err" &
	began=$SECONDS
	until [ -e "$scratch/other" ]; do
		[ $((SECONDS - began)) -lt 60 ] || fail "$1: b waits for the tier"
		kill -0 $! || break
		sleep 0.1
	done
	"$spillway" place --log --json >"$scratch/log"
	grep -q "\"error\": \"Connection timed out\"" "$scratch/log" ||
		fail "$1: the log tells of nothing that was given up"
	sleep 0.5
	! grep -q 'check a' "$scratch/err" || [ "$(grep -c 'check a' \
		"$scratch/err")" = 1 ] || fail "$1: nothing was below"
	>"$tier/.slowfs-control"
	touch "$scratch/other.over"
	wait $! || status=$?
	[ $status = 0 ] || fail "$1: $status: $(cat "$scratch/err")"
	cat >"$scratch/words" <<-'WORDS'
	fsync b = 0
	check b = right
	fsync b = 0
	check a = right
	check a = right
	fsync a = 0
	close a = 0
	close b = 0
	WORDS
	diff -u "$scratch/words" "$scratch/out" || fail "$1"
	same_bytes "$scratch/a" a
	same_bytes "$scratch/b" b
	counter_is bytes_undrained 0
	counter_above bytes_down 4000000
	[ -z "$(find "$tier" -name '*.log' -o -name '*.object')" ] ||
		fail "$1: something was left"
	rm a b "$scratch/other" "$scratch/other.over"
}

stalled_in "stall=*" nvme
[ "${SPILLWAY_CHECK_LONG:-}" != 1 ] || stalled_in "stall=*" bb
