#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recover-stall-middle.sh -- a tier stalls while recover, or stage out, brings
# home what is in it: the command names it and ends, what others have is home,
# and the rest follows when it answers again

. tests/functions.sh
requires python3 --version
# Nobody can look at what a thread has that is stuck in a tier.
ASAN_OPTIONS+=:detect_leaks=0
slow_mount_at tier direct=1
slow_mount_at other direct=1
tier=$scratch/tier other=$scratch/other
export SPILLWAY_TIERS="ram@32M nvme:$(place "$tier")@64M
	bb:$(place "$other")@64M"
before="$scratch/before"

# Each of the tiers takes some files, while the other one fails.
left()
{
	local i steps=("set:$other:eio-write=*") status=0

	for i in 1 2 3 4; do
		steps+=("write:a$i:$i:0:2M:256K" "fsync:a$i")
	done
	steps+=("set:$other:eio-write=" "set:$tier:eio-write=*" sleep:1200)
	for i in 1 2 3 4; do
		steps+=("write:b$i:$((10 + i)):0:2M:256K" "fsync:b$i")
	done
	for i in a1 a2 a3 a4 b1 b2 b3 b4; do
		steps+=("save:$i:$before/$i")
	done
	mkdir -p "$before"
	"$spillway" run --drain-delay 60s -- \
		"$top_builddir/tests/tier-steps" "${steps[@]}" \
		"call:$scratch/go" >"$scratch/out" 2>&1 &
	run=$!
	at_end "kill -9 $run 2>/dev/null"
	until [ -e "$scratch/go" ]; do
		kill -0 $run || fail "$(cat "$scratch/out")"
		sleep 0.1
	done
	program=$(pgrep -P $run)
	kill -9 $program $run || :
	wait $run || status=$?
	while kill -0 $program 2>/dev/null; do
		sleep 0.05
	done
	rm "$shm_dir"/spillway.*/*.seg
	>"$tier/.slowfs-control"
	>"$other/.slowfs-control"
}

# stalls_in COMMAND...: the tier stalls as soon as something is written home.
stalls_in()
{
	local command i state

	state=$(stat -c '%n %y' *)
	echo 'bandwidth=1000000' >"$tier/.slowfs-control"
	timeout 150 "$@" >"$scratch/out" 2>"$scratch/err" &
	command=$!
	for i in {1..4000}; do
		[ "$(stat -c '%n %y' *)" = "$state" ] || break
		kill -0 $command || fail "nothing gets home: $(cat "$scratch/err")"
		sleep 0.02
	done
	echo 'stall=*' >"$tier/.slowfs-control"
	fails_with 5 wait $command
	>"$tier/.slowfs-control"
}

# What stayed is in the tier that stalls, or of a file that has more there.
# All others are home.
left
stalls_in "$spillway" recover -y --json
cat "$scratch/out" "$scratch/err"
grep -q ': a tier does not answer; what is there stays there$' \
	"$scratch/err" || fail "it is not said"
python3 - "$scratch/out" "$before" >"$scratch/kept" <<'PYTHON' || fail "$(cat "$scratch/kept")"
import filecmp, json, os, sys
share, = json.load(open(sys.argv[1]))["shares"]
kept = {os.path.basename(o["file"]) for o in share["kept"]}
stuck = {os.path.basename(o["file"]) for o in share["kept"]
         if o["tier"] == "nvme"}
went = [f for f in os.listdir(sys.argv[2]) if f not in kept]
wrong = [f for f in went
         if not filecmp.cmp(f, os.path.join(sys.argv[2], f), False)]
print("kept", sorted(kept), "went", sorted(went), "wrong", wrong)
sys.exit(not stuck or kept != stuck or not went or bool(wrong) or
         not share["bytes_recovered"])
PYTHON
timeout 60 "$spillway" recover -y >"$scratch/out" 2>&1 ||
	fail "$? later: $(cat "$scratch/out")"
diff -r "$before" . || fail "not right"

# The same with a stub, whose inode may be one that the killed job had.
rm *
unset SPILLWAY_TIERS
"$spillway" run -q --at-exit keep --tiers "ram@16M nvme:$(place "$tier")@64M" \
	-- "$top_builddir/tests/tier-steps" write:c:7:0:8M:256K \
	"save:c:$before/c"
[ "$(stat -c %a c)" = 0 ] || fail "c is not kept"
echo 'bandwidth=1000000' >"$tier/.slowfs-control"
timeout 60 "$spillway" stage out c >"$scratch/out" 2>&1 &
stage=$!
sleep 3
echo 'stall=*' >"$tier/.slowfs-control"
fails_with 5 wait $stage
grep -q '/c: a tier of .* does not answer; it is a stub as before' \
	"$scratch/out" || fail "$(cat "$scratch/out")"
>"$tier/.slowfs-control"
[ "$(stat -c %a c)" = 0 ] || fail "c is no stub"
timeout 60 "$spillway" stage out c >"$scratch/out" 2>&1 ||
	fail "$? later: $(cat "$scratch/out")"
same_bytes "$before/c" c
