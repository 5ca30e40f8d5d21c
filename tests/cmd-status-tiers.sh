#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-status-tiers.sh -- status shows the tiers, and a run warns of them

. tests/functions.sh
unset SPILLWAY_JOB
slow_mount bandwidth=10000000
mount=$scratch/slow
mkdir "$scratch/disk" "$scratch/bad"
disk=$(literally "$scratch/disk") bad=$(literally "$scratch/bad")
cd "$mount"

# What does not fit in memory is below, and home is slow.
timeout 60 "$spillway" run --job tiers --include "$mount" \
	--tiers "ram@16M nvme:$(place "$scratch/disk")@64M" -- \
	"$top_builddir/tests/tier-steps" write:a:1:0:32M:1M \
	"call:$scratch/now" close:a >"$scratch/out" 2>"$scratch/err" &
run=$!
until [ -e "$scratch/now" ] || ! kill -0 $run 2>/dev/null; do sleep 0.05; done
for ((i = 0; i < 200; i++)); do	# figures are renewed four times a second
	sleep 0.3
	"$spillway" status --json tiers >"$scratch/json"
	! grep -q '"objects": [1-9]' "$scratch/json" || break
done
"$spillway" status tiers >"$scratch/text"
touch "$scratch/now.over"
wait $run || fail "ended with $?: $(cat "$scratch/err")"
grep -Eq "^  tier nvme    $disk  [0-9.]+ [KM]iB/64 MiB in [0-9]+ objects?, (not )?durable$" \
	"$scratch/text" || fail "$(cat "$scratch/text")"
grep -Eq '^  [0-9.]+ [KM]iB in tiers and not home$' "$scratch/text" ||
	fail "$(cat "$scratch/text")"
for words in '"kind": "nvme"' "\"place\": \"$disk\"" \
	'"capacity": 67108864' '"used": [1-9]' '"objects": [1-9]' \
	'"durable": ' '"state": "open"' '"below_bytes": [1-9]'; do
	grep -Eq "$words" "$scratch/json" || fail "$words: $(cat "$scratch/json")"
done
[ ! -s "$scratch/err" ] || fail "warned of nothing: $(cat "$scratch/err")"

# A tier that cannot be opened is named, once, and the run goes on without.
: >"$scratch/bad/spillway-$(id -u)"
"$spillway" run --job bad --tiers "ram@4M nvme:$(place "$scratch/bad")@1M" -- \
	sh -c '"$0" status bad >"$1/text"' "$spillway" "$scratch" \
	2>"$scratch/err"
[ "$(grep -Ec "warning: tier nvme: $bad: is not used: .*\[W117\]" \
	"$scratch/err")" = 1 ] || fail "$(cat "$scratch/err")"
grep -Eq "^  tier nvme    $bad  not used: " "$scratch/text" ||
	fail "$(cat "$scratch/text")"
fails_with 125 "$spillway" run --strict --tiers \
	"ram@4M nvme:$(place "$scratch/bad")@1M" \
	-- touch ran 2>/dev/null
[ ! -e ran ] || fail "--strict runs it all the same"
! compgen -G "$shm_dir/spillway.*/*.seg" >/dev/null || fail "segments are left"

# What should be known of a place is said once, and shown.
PMEM_IS_PMEM_FORCE=1 "$spillway" run --job pmem --tiers \
	"ram@4M pmem:$(place "$scratch/disk")@8M" -- sh -c '"$0" status pmem >"$1/text"
	"$0" status --json pmem >"$1/json"' "$spillway" "$scratch" \
	2>"$scratch/err"
! grep -q 'W117.*\|not used' "$scratch/err" || skip "needs: libpmem"
[ "$(grep -Ec "warning: tier pmem: $disk: PMEM_IS_PMEM_FORCE is set.*\[W116\]" \
	"$scratch/err")" = 1 ] || fail "$(cat "$scratch/err")"
grep -q '^  tier pmem    caution: PMEM_IS_PMEM_FORCE is set' "$scratch/text" ||
	fail "$(cat "$scratch/text")"
grep -q '"caution": "PMEM_IS_PMEM_FORCE is set' "$scratch/json" ||
	fail "$(cat "$scratch/json")"
