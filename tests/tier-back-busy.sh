#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# tier-back-busy.sh -- a tier that was away when a drainer took over is taken
# again within seconds, also while somebody writes all the time

. tests/functions.sh
# Nobody can look at what a thread has that is stuck in a tier.
ASAN_OPTIONS+=:detect_leaks=0
slow_mount
slow_mount_at tier direct=1
slow_mount_at other
mount=$scratch/slow tier=$scratch/tier other=$scratch/other
cd "$mount"

state()					# of the first tier
{
	"$spillway" status --json | tr -d '\n' |
		sed -n 's/.*"kind": *"nvme"[^}]*"state": *"\([a-z]*\)".*/\1/p'
}

# Home and the other tier are slow, so that something is on its way to both of
# them at any time.
writes=()
for i in {1..40}; do
	writes+=("write:b:$i:0:24M:64K")
done
"$spillway" run --tiers "ram@16M nvme:$(place "$tier")@64M
	bb:$(place "$other")@64M" --include "$mount" -- \
	"$top_builddir/tests/tier-steps" open:a open:b \
	"set:$mount:bandwidth=4000000" "set:$other:bandwidth=8000000" \
	write:a:1:0:24M:256K "call:$scratch/step1" "${writes[@]}" \
	>"$scratch/out" 2>"$scratch/err" &
run=$!
at_end "kill -9 $run 2>/dev/null"
until [ -e "$scratch/step1" ]; do
	sleep 0.1
done
program=$(pgrep -P $run)
at_end "kill -9 $program 2>/dev/null"
kill -9 $run
wait $run || :
echo 'stall=*' >"$tier/.slowfs-control"
touch "$scratch/step1.over"
until [ "$(state)" = failed ]; do
	kill -0 $program || fail "ended: $(cat "$scratch/out" "$scratch/err")"
	sleep 0.1
done
sleep 2
[ "$(state)" = failed ] || fail "it is there, and stalls"
>"$tier/.slowfs-control"
since=$SECONDS
until [ "$(state)" = open ]; do
	kill -0 $program || fail "ended: $(cat "$scratch/out" "$scratch/err")"
	[ $((SECONDS - since)) -le 15 ] || fail "it is not taken again"
	sleep 0.1
done
echo "taken again after $((SECONDS - since)) s"
kill -0 $program || fail "was not busy"
kill -9 $program
>"$mount/.slowfs-control"
>"$other/.slowfs-control"
"$spillway" drain --wait --timeout 60s >/dev/null 2>&1 || [ $? = 3 ] ||
	fail "not drained"
