#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# plan-rebuilt.sh -- a damaged seed is told of once and made anew, also by a
# run that learns nothing

. tests/functions.sh
requires python3 --version
has_json || cannot "this build has no JSON"
mkdir "$scratch/tier"
seed=$scratch/seed.json
run()
{
	"$spillway" run --seed "$seed" \
		--tiers "ram@16M nvme:$(place "$scratch/tier")@64M" -- \
		dd if=/dev/zero of=file bs=4k count=3 status=none \
		>out 2>"$scratch/err" || fail "$(cat "$scratch/err")"
}

for text in '' '{' '[]' '{ "spillway-seed": 1, "costs": [ {' 'no JSON'; do
	printf '%s' "$text" >"$seed"
	run
	[ "$(grep -c 'seed.*ignored' "$scratch/err")" = 1 ] ||
		fail "'$text' is told of so: $(cat "$scratch/err")"
	python3 -m json.tool "$seed" >/dev/null || fail "'$text' stayed"
	run
	! grep seed "$scratch/err" || fail "it is told of again"
done
