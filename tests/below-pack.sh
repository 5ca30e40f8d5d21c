#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# below-pack.sh -- objects are packed as the tier says, by any number of
# workers, and come back right, also when somebody asks for fsync meanwhile

. tests/functions.sh
"$top_builddir/tests/list-features" | grep '^codec *lz4 *yes' >/dev/null ||
	cannot "no lz4 in this build"
slow_mount
mount=$scratch/slow
cd "$mount"
mkdir "$scratch/tier"

# steps WORKERS PIN: half of what is written packs well, half not at all;
# nothing gets home before the steps are over.
steps()
{
	"$spillway" run --receipt "$receipt" --include "$mount" --workers $1 \
		--tiers "ram@16M nvme:$(place "$scratch/tier")@128M+$2" -- \
		timeout 60 "$top_builddir/tests/tier-steps" open:a open:b \
		"set:$mount:stall=*" write:a:1000:0:24M:1M \
		write:b:2:0:24M:1M check:a:0:24M:256K check:b:0:24M:128K \
		write:a:1001:1000:4M:10000 check:a:0:24M:256K \
		"set:$mount:stall=" fsync:a fsync:b "save:a:$scratch/a" \
		"save:b:$scratch/b" close:a close:b \
		>"$scratch/out" 2>"$scratch/err" ||
		fail "$1 $2: ended with $?: $(cat "$scratch/err")"
	! grep -v '= 0$\|= right$' "$scratch/out" || fail "$1 $2: not right"
	counter_is bytes_undrained 0
	counter_above bytes_down 24000000
	same_bytes "$scratch/a" a
	same_bytes "$scratch/b" b
	rm -f a b
	saved=$(($(counter bytes_down) - $(counter stored_down)))
}

for workers in none 1 4; do
	steps $workers lz4
	[ $saved -gt 5000000 ] || fail "$workers workers: $saved bytes saved"
done
steps auto raw
[ $saved -le 0 ] || fail "raw: $saved bytes saved"
