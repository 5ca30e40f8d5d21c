#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# below-older.sh -- a drainer dies and the newest bytes of a tier are lost: fsck
# sees that, and the next drainer does not take older ones, which an fsync had
# put there, for them

. tests/functions.sh
requires_disk
requires python3 --version
slow_mount
mount=$scratch/slow
cd "$mount"
mkdir "$scratch/tier"

"$spillway" run --tiers "ram@16M bb:$(place "$scratch/tier")@128M" \
	--include "$mount" -- "$top_builddir/tests/tier-steps" \
	open:c write:a:1:0:4K:4K fsync:a "set:$mount:stall=*" \
	write:c:5:0:8K:4K sleep:300 write:a:1:0:24M:256K fsync:a \
	"call:$scratch/synced" write:a:2:0:24M:256K \
	"call:$scratch/go" check:a:0:24M:64K "call:$scratch/end" \
	>"$scratch/out" 2>"$scratch/err" &
run=$!
told()
{
	for i in {1..400}; do
		[ ! -e "$scratch/$1" ] || return 0
		kill -0 $2 || fail "$(cat "$scratch/out" "$scratch/err")"
		sleep 0.05
	done
	fail "$1 does not come: $(cat "$scratch/out" "$scratch/err")"
}
told synced $run
program=$(pgrep -P $run)
at_end "kill -9 $program 2>/dev/null"
touch "$scratch/mark"
sleep 0.05
touch "$scratch/synced.over"
told go $run
kill -9 $run
>"$mount/.slowfs-control"
wait $run || :
[ -n "$(find "$scratch/tier" -name '*.object' ! -newer "$scratch/mark")" ] ||
	fail "fsync left nothing there"
check()
{
	"$spillway" fsck --tiers "bb:$(place "$scratch/tier")" "$@" \
		>"$scratch/told" 2>&1
}
check || fail "$(cat "$scratch/told")"
find "$scratch/tier" -name '*.object' -newer "$scratch/mark" -delete
fails_with 1 check
grep -q '/a: bytes [0-9]* to [0-9]*: .*none has them  \[W169\]' \
	"$scratch/told" || fail "$(cat "$scratch/told")"
fails_with 1 check -q --json
grep -v '\[W169\]$' "$scratch/told" | python3 -c 'import json, sys
segment, = json.load(sys.stdin)["segments"]
assert any(m["path"].endswith("/a") for m in segment["missing"]), segment' ||
	fail "$(cat "$scratch/told")"
touch "$scratch/go.over"
told end $program
cat "$scratch/out" "$scratch/err"
grep -qx 'check a = EIO' "$scratch/out" || fail "nothing was lost"
touch "$scratch/end.over"
kill -9 $("$spillway" status --json |
	sed -n 's/.*"drainer_pid": *\([0-9]*\).*/\1/p')
