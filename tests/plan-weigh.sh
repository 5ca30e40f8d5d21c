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

# packed FLAG... -- STEP...: what was packed how, before anything gets home, and
# to how much, of 1000.
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
		sort | uniq -c >"$scratch/packed"
	touch "$scratch/there.over"
	wait $! || fail "ended with $?: $(cat "$scratch/err")"
	down=$(counter bytes_down) stored=$(counter stored_down)
	[ $down = 0 ] || stored=$((stored * 1000 / down))
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

# Programs wait for room: what packs best takes a third of a second a MiB, and
# is not worth it, whatever counts.
text=write:a:2000:0:18M:1M
packed --weights async -- $text
async=$stored how=$(cat "$scratch/packed")
packed --weights archive -- $text
archive=$stored
! grep -E 'lzma|zstd=19|brotli=9' "$scratch/packed" || fail "writers wait"
packed --weights async -- "${weigh[@]}" $text
diff -u "$scratch/words" "$scratch/out" || fail "not told so"
echo "async $async:" $how
echo "archive $archive, later $stored:" $(cat "$scratch/packed")
[ $archive -lt $async ] || fail "weights change nothing"
[ $stored -lt $async ] || fail "what the program said was not followed"
