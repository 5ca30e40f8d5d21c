#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# plan-weigh.sh -- weights are followed, those of the start and those that a
# program sets later

. tests/functions.sh
"$top_builddir/tests/list-features" | grep '^codec *lzma *yes' >/dev/null ||
	cannot "no lzma in this build"
slow_mount
mount=$scratch/slow
cd "$mount"
mkdir "$scratch/tier"

# packed FLAG... -- STEP...: the last packing in the log, before anything gets
# home.
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
		--tiers "ram@16M nvme:$(place "$scratch/tier")@128M" \
		-- "$top_builddir/tests/tier-steps" open:a \
		"set:$mount:stall=*" "$@" "call:$scratch/there" \
		"set:$mount:stall=" close:a >"$scratch/out" 2>"$scratch/err" &
	while [ ! -e "$scratch/there" ]; do
		sleep 0.1
	done
	"$spillway" place --log --json |
		sed -n 's/.*"packed": "\(.*\)".*/\1/p' |
		tail -n 1 >"$scratch/packed"
	touch "$scratch/there.over"
	wait $! || fail "ended with $?: $(cat "$scratch/err")"
}

cat >"$scratch/words" <<'WORDS'
weigh nonsense = EINVAL
weigh 0.5,0.6,0.1 = EINVAL
weigh archive = 0
close a = 0
WORDS
weigh=(weigh:nonsense weigh:0.5,0.6,0.1 weigh:archive)
packed --weights async -- "${weigh[@]}"
diff -u "$scratch/words" "$scratch/out" || fail "not told so"

# What packs best packs slowly: not for every day.
[ "${SPILLWAY_CHECK_LONG:-0}" = 1 ] || exit 0
text=write:a:2000:0:18M:1M
packed --weights async -- $text
cp "$scratch/packed" "$scratch/async"
packed --weights archive -- $text
cp "$scratch/packed" "$scratch/archive"
packed --weights async -- "${weigh[@]}" $text
diff -u "$scratch/words" "$scratch/out" || fail "not told so"
echo "async $(cat "$scratch/async"), archive $(cat "$scratch/archive")," \
	"later $(cat "$scratch/packed")"
! cmp -s "$scratch/async" "$scratch/archive" || fail "weights change nothing"
cmp -s "$scratch/archive" "$scratch/packed" ||
	fail "what the program said was not followed"
