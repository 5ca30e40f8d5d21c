#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-place.sh -- each part of a file is where `spillway place` says, while the
# job runs and after it; the log says why

. tests/functions.sh
requires python3 --version
"$top_builddir/tests/list-features" | grep '^codec *lz4 *yes' >/dev/null ||
	cannot "no lz4 in this build"
slow_mount
mount=$scratch/slow
cd "$mount"
mkdir "$scratch/tier"
unset SPILLWAY_JOB

"$spillway" run --receipt "$receipt" --include "$mount" --job placed \
	--tiers "ram@16M nvme:$(place "$scratch/tier")@128M+lz4" -- \
	timeout 60 "$top_builddir/tests/tier-steps" write:a:1000:0:2M:1M \
	"set:$mount:stall=*" write:a:1000:1M:23M:1M "call:$scratch/there" \
	"set:$mount:stall=" close:a >"$scratch/out" 2>"$scratch/err" &
run=$!
for i in $(seq 300); do
	[ ! -e "$scratch/there" ] || break
	sleep 0.1
done
# The drainer changes the tier when it has to; looking never does.
for i in $(seq 10); do
	sums=$(find "$scratch/tier" -type f -exec cksum {} +)
	"$spillway" place a >"$scratch/text"
	"$spillway" place -v --job placed a >"$scratch/long"
	"$spillway" place --json a >"$scratch/json"
	"$spillway" place --log --json >"$scratch/log"
	"$spillway" place --log >"$scratch/log.text"
	[ "$sums" != "$(find "$scratch/tier" -type f -exec cksum {} +)" ] ||
		break
	[ $i -lt 10 ] || fail "looking changed the tier"
done
timeout 20 "$spillway" place --log --follow >"$scratch/followed" &
follow=$!
touch "$scratch/there.over"
wait $run || fail "ended with $?: $(cat "$scratch/err")"
wait $follow || fail "--follow ended with $?"

cat "$scratch/text"
head -n 1 "$scratch/text" | grep -qx 'a: 24 MiB, job placed' ||
	fail "another heading"
grep -q " nvme:$scratch/tier  *lz4=.* pinned" "$scratch/text" ||
	fail "nothing in the tier"
[ $(wc -l <"$scratch/long") -gt $(wc -l <"$scratch/text") ] ||
	fail "-v shows no more"
[ $(wc -l <"$scratch/followed") -ge $(wc -l <"$scratch/log.text") ] ||
	fail "--follow shows less"

python3 - "$scratch/json" "$scratch/log" <<'CHECK'
import json, sys
file, = json.load(open(sys.argv[1]))["files"]
job, = json.load(open(sys.argv[2]))["jobs"]
assert file["job"] == job["job"] == "placed"
decided = {d["object"]: d for d in job["decisions"] if "object" in d}
assert job["so_far"] >= len(decided) > 5, job["so_far"]
at = 0
seen = {"memory": 0, "tier": 0, "home": 0}
for part in file["parts"]:
    assert part["offset"] == at, part
    at += part["length"]
    seen[part["where"]] += part["length"]
    if part["where"] != "tier":
        continue
    o = part["object"]
    assert o["offset"] <= part["offset"], part
    assert o["packed"].startswith("lz4="), part
    assert o["stored"] * 3 < o["length"] * 2, part
    assert o["blocks"] == o["blocks_packed"], part
    assert o["why"] == "pinned", part
    d = decided[o["sequence"]]
    assert (d["offset"], d["length"]) == (o["offset"], o["length"]), d
    assert d["path"].endswith("/slow/a") and d["tier"] == o["tier"], d
    assert d["actual"]["stored"] == o["stored"], d
assert at == file["size"] == 24 << 20, at
assert seen["tier"] > 6 << 20 and seen["memory"] > 6 << 20, seen
CHECK

# Afterwards it is home, and so is what nobody knows.
"$spillway" place a >"$scratch/text"
printf 'a: 24 MiB\n%16d %10s  home\n' 0 "24 MiB" | diff -uB - \
	<(sed 's/ *$//' "$scratch/text") || fail "not home"
"$spillway" place --log | grep -x 'no job of yours on this node' >/dev/null ||
	fail "a log of nobody"

# A file that the kernel serves, while it is open, is as large as that says.
"$spillway" run -q --include "$mount" --job handed -- bash -c '
	exec 3>b
	head -c 70000 /dev/zero >&3
	"$0" place b >"$1/text"
	"$0" place --json b >"$1/json"' "$spillway" "$scratch"
cat "$scratch/text"
grep -qx 'b: 68 KiB, job handed, served by the kernel: exec' \
	"$scratch/text" || fail "another heading of what the kernel has"
python3 - "$scratch/json" <<'CHECK'
import json, sys
file, = json.load(open(sys.argv[1]))["files"]
part, = file["parts"]
assert file["bypass"] == "exec" and file["size"] == 70000, file
assert (part["offset"], part["length"], part["where"]) == (0, 70000, "home")
CHECK

# A file system that does not say what a file is, is not waited for.
echo known >"$scratch/known"
mkdir "$scratch/slow-back/deep"
echo bytes >"$scratch/slow-back/deep/asked"
"$top_builddir/tests/tier-steps" "set:$mount:stall-find=deep/asked"
timeout -s KILL 30 "$spillway" place deep/asked "$scratch/known" \
	>"$scratch/text" 2>"$scratch/said" || ended=$?
"$top_builddir/tests/tier-steps" "set:$mount:stall-find="
[ "${ended-0}" = 5 ] || fail "place of a stalled file: ${ended-0}"
grep -q '^spillway: error: deep/asked: cannot be looked at: .* stalls' \
	"$scratch/said" || fail "$(cat "$scratch/said")"
grep -q '^.*/known: 6 B' "$scratch/text" || fail "the other is not shown"
unset ended

# A tier that stalls is not waited for: what else is known is shown.
slow_mount_at stuck
mkdir "$scratch/stuck/tier"
set_stuck()
{
	"$top_builddir/tests/tier-steps" "set:$scratch/stuck:stall=$1"
}
rm "$scratch/there" "$scratch/there.over"
"$spillway" run -q --include "$mount" --job stuck \
	--tiers "ram@16M nvme:$(place "$scratch/stuck/tier")@128M" -- \
	timeout 60 "$top_builddir/tests/tier-steps" write:c:1000:0:2M:1M \
	"set:$mount:stall=*" write:c:1000:1M:23M:1M "call:$scratch/there" \
	"set:$mount:stall=" close:c >"$scratch/out" 2>"$scratch/err" &
run=$!
for i in $(seq 300); do
	[ ! -e "$scratch/there" ] || break
	sleep 0.1
done
set_stuck '*'
timeout -s KILL 30 "$spillway" place c >"$scratch/text" 2>"$scratch/said" ||
	ended=$?
set_stuck ''
touch "$scratch/there.over"
wait $run || fail "ended with $?: $(cat "$scratch/err")"
cat "$scratch/text"
[ "${ended-0}" = 0 ] || fail "place of a stalled tier ended with $ended"
grep -q 'a tier of it cannot be looked at' "$scratch/said" ||
	fail "nothing is said of the tier: $(cat "$scratch/said")"
grep -q ' memory$' <(sed 's/ *$//' "$scratch/text") &&
	grep -q ' a tier$' <(sed 's/ *$//' "$scratch/text") ||
	fail "the parts are not shown"

status()
{
	local status=0

	"$spillway" place "${@:2}" >"$scratch/out" 2>&1 || status=$?
	[ $status = $1 ] || fail "place ${*:2}: $status, expected $1"
}
status 5 none a
grep -q '^a: 24 MiB' "$scratch/out" || fail "one that is missing hid another"
status 2
status 2 --log a
status 2 --follow a
status 3 --job none a
