#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# plan-profile.sh -- what a profile found out about a tier is what the planner
# expects of it at first

. tests/functions.sh
requires python3 --version
has_json || cannot "this build has no JSON"
slow_mount
mount=$scratch/slow
cd "$mount"
mkdir "$scratch/tier"
unset SPILLWAY_JOB
seed=$scratch/seed.json
tiers="ram@16M nvme:$(place "$scratch/tier")@128M"
"$spillway" profile -q --seconds 1 --tiers "$tiers" --seed "$seed" \
	>"$scratch/out" 2>"$scratch/err" || fail "$(cat "$scratch/err")"

# As if it had been found to be slow: 1 MB/s.
python3 - "$seed" <<'SLOW'
import json, sys
seed = json.load(open(sys.argv[1]))
name, = [n for n in seed["tiers"] if n.startswith("nvme:")]
assert seed["tiers"][name]["write"] > 1e6
seed["tiers"][name]["write"] = 1e6
json.dump(seed, open(sys.argv[1], "w"))
SLOW

"$spillway" run --seed "$seed" --tiers "$tiers" --include "$mount" -- \
	timeout 60 "$top_builddir/tests/tier-steps" open:a \
	"set:$mount:stall=*" write:a:1:0:20M:1M "call:$scratch/there" \
	"set:$mount:stall=" close:a >"$scratch/out" 2>"$scratch/err" &
run=$!
for i in $(seq 300); do
	[ ! -e "$scratch/there" ] || break
	sleep 0.1
done
"$spillway" place --log --json >"$scratch/log"
touch "$scratch/there.over"
wait $run || fail "ended with $?: $(cat "$scratch/err")"
python3 - "$scratch/log" <<'CHECK'
import json, sys
job, = json.load(open(sys.argv[1]))["jobs"]
first = [d for d in job["decisions"] if "expected" in d][0]
assert first["expected"]["write_us"] > 0.8 * first["expected"]["stored"], first
CHECK
