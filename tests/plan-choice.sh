#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# plan-choice.sh -- without a pinned codec the planner chooses: what packs well
# is packed, what does not stays raw, with workers or without; and it learns

. tests/functions.sh
without_sanitizer address "filters are slower than the tier, so raw is right"
without_sanitizer thread "filters are slower than the tier, so raw is right"
requires python3 --version
"$top_builddir/tests/list-features" | grep '^codec *zstd *yes' >/dev/null ||
	cannot "no zstd in this build"
slow_mount
mount=$scratch/slow
cd "$mount"
mkdir "$scratch/tier"
export XDG_CACHE_HOME=$scratch/cache
seed=$XDG_CACHE_HOME/spillway/seed.json
tiers="ram@16M nvme:$(place "$scratch/tier")@128M"

# steps WRITES...: nothing gets home before they are over. Numbers of the
# receipt: down and stored.
steps()
{
	spilled timeout 60 "$top_builddir/tests/tier-steps" open:a open:b \
		"set:$mount:stall=*" "$@" check:a:0:24M:256K \
		"set:$mount:stall=" "save:a:$scratch/a" close:a close:b \
		>"$scratch/out" 2>"$scratch/err" ||
		fail "ended with $?: $(cat "$scratch/err")"
	! grep -v '= 0$\|= right$' "$scratch/out" || fail "not right"
	counter_is bytes_undrained 0
	counter_above bytes_down 6000000
	same_bytes "$scratch/a" a
	rm -f a b
	down=$(counter bytes_down) stored=$(counter stored_down)
}
well=write:a:1000:0:24M:1M
badly=write:a:1:0:24M:1M

spilled_flags=(--tiers "$tiers" --include "$mount")
# While the advisor saves, some go down as they are.
steps $well
[ $((stored * 2)) -lt $down ] || fail "packed to $stored of $down"
! has_json || grep -q '"spillway-seed"' "$seed" || fail "nothing was kept"
[ ! -s "$scratch/err" ] || grep -v '^check\|^spillway: [0-9a]' \
	"$scratch/err" && fail "something was said"
steps $badly
[ $stored -gt $down ] && [ $((stored - down)) -lt $((down / 50)) ] ||
	fail "what does not pack took $stored of $down"
steps $well write:b:1:0:16M:1M
[ $((stored * 10)) -lt $((down * 9)) ] &&
	[ $((stored * 10)) -gt $down ] || fail "both: $stored of $down"
spilled_flags+=(--workers none)
steps $well
[ $((stored * 2)) -lt $down ] || fail "no workers: $stored of $down"

# A damaged seed is told once, and built anew.
spilled_flags=(--tiers "$tiers" --include "$mount")
if has_json; then
	echo '{ "spillway-seed": 1, "costs": [' >"$seed"
	steps $well
	[ $(grep -c 'W179' "$scratch/err") = 1 ] || fail "$(cat "$scratch/err")"
	python3 -m json.tool "$seed" >/dev/null ||
		fail "the seed stayed damaged"
	steps $well
	! grep W179 "$scratch/err" || fail "told again"
fi

# One that can be neither read nor written fails no run.
touch "$scratch/file"
spilled_flags+=(--seed "$scratch/file/seed.json")
steps $well

# What raw means is raw.
spilled_flags=(--tiers "$tiers+raw" --include "$mount")
steps $well
[ $stored -gt $down ] || fail "raw: packed to $stored of $down"
