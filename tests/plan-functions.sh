# SPDX-License-Identifier: BSD-3-Clause
# plan-functions.sh -- for tests of what a job's drainer packs, and how

slow_mount
mount=$scratch/slow
cd "$mount"
mkdir "$scratch/tier"
pin=					# options of the tier

# packed FLAG... -- STEP...: what was packed how, before anything gets home, and
# to how much, of 1000.
packed()
{
	local flags=()

	while [ "$1" != -- ]; do
		flags+=("$1")
		shift
	done
	shift
	rm -f "$scratch/there" "$scratch/there.over" a
	"$spillway" run "${flags[@]}" --seed /dev/null --include "$mount" \
		--receipt "$receipt" \
		--tiers "ram@16M nvme:$(place "$scratch/tier")@128M$pin" \
		-- "$top_builddir/tests/tier-steps" open:a \
		"set:$mount:stall=*" "$@" "call:$scratch/there" \
		"set:$mount:stall=" close:a >"$scratch/out" 2>"$scratch/err" &
	while [ ! -e "$scratch/there" ]; do
		kill -0 $! 2>/dev/null ||
			fail "ended before it was asked: $(cat "$scratch/err")"
		sleep 0.1
	done
	"$spillway" place --log --json |
		sed -n 's/.*"packed": "\(.*\)".*/\1/p' |
		sort | uniq -c >"$scratch/packed"
	touch "$scratch/there.over"
	wait $! || fail "ended with $?: $(cat "$scratch/err")"
	down=$(counter bytes_down) stored=$(counter stored_down)
	[ $down = 0 ] || stored=$((stored * 1000 / down))
}
