#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# plan-split.sh -- a run is divided over tiers where one is nearly full, in
# whole blocks and without a gap; and home is chosen where the tier is slower

. tests/functions.sh
requires python3 --version
slow_mount
slow_mount_at far bandwidth=8000000
mount=$scratch/slow
cd "$mount"
mkdir "$scratch/small"
unset SPILLWAY_JOB

# logged TIERS STEP...: the steps, and the log when they are over.
logged()
{
	local i

	rm -f "$scratch/there" "$scratch/there.over"
	"$spillway" run --seed /dev/null --include "$mount" --tiers \
		"ram@16M $1" --receipt "$receipt" -- timeout 60 \
		"$top_builddir/tests/tier-steps" open:a "${@:2}" \
		check:a:0:24M:256K "call:$scratch/there" \
		"set:$mount:stall=" "save:a:$scratch/a" close:a \
		>"$scratch/out" 2>"$scratch/err" &
	for i in $(seq 300); do
		[ ! -e "$scratch/there" ] || break
		sleep 0.1
	done
	"$spillway" place --log --json >"$scratch/log"
	touch "$scratch/there.over"
	wait $! || fail "ended with $?: $(cat "$scratch/err")"
	! grep -v '= 0$\|= right$' "$scratch/out" || fail "not right"
	same_bytes "$scratch/a" a
	rm a
}

# Memory takes 16 MiB of 40, the small tier 2.6, which is no whole number of
# objects; it is the faster one, which the first objects show, and what is
# written does not pack.
small=bb:$(place "$scratch/small")@2600K
logged "$small bb:$(place "$scratch/far")@64M" "set:$mount:stall=*" \
	write:a:1:0:40M:1M
python3 - "$scratch/log" "$scratch/small" <<'CHECK'
import json, sys
job, = json.load(open(sys.argv[1]))["jobs"]
down = [d for d in job["decisions"]
        if "object" in d and "failed" not in d["why"]]
small = [d for d in down if d["tier"].endswith(sys.argv[2])]
used = sum(d["actual"]["stored"] for d in small)
assert used > 0.85 * 2600 * 1024, (used, [d["length"] for d in small])
parts = [d for d in small if d["length"] % (1 << 20)]
assert parts, [d["length"] for d in small]
assert all(d["length"] % 4096 == 0 for d in parts), parts
CHECK

# The slow tier, and a home that is five times as fast.
logged "bb:$(place "$scratch/far")@64M" "set:$mount:bandwidth=40000000" \
	write:a:1:0:96M:1M
python3 - "$scratch/log" <<'CHECK'
import json, sys
job, = json.load(open(sys.argv[1]))["jobs"]
home = [d for d in job["decisions"]
        if d["tier"] == "home" and "chosen" in d["why"]]
assert home, [(d["tier"], d["why"]) for d in job["decisions"]]
CHECK
