#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# tier-back-beside.sh -- the file beside a home that says which objects count no
# more is there while a tier is away, and goes with the home or for the tier

. tests/functions.sh
requires_disk
slow_mount
mount=$scratch/slow A=$scratch/A B=$scratch/B
cd "$mount"
mkdir "$A" "$B"
echo no-attributes=1 >>"$mount/.slowfs-control"

# come FILE: until it is there.
come()
{
	local i

	for ((i = 0; i < 600; i++)); do
		[ ! -e "$1" ] || return 0
		sleep 0.1
	done
	fail "$1 does not come: $(cat "$scratch/out" "$scratch/err")"
}

# go WHY: until no notes are there.
go()
{
	local i

	for ((i = 0; i < 300; i++)); do
		[ -n "$(ls -A | grep spillway)" ] || return 0
		sleep 0.1
	done
	fail "$1: $(ls -A)"
}

# Two drainers: the second has to do without A, which has older bytes of both.
"$spillway" run --tiers "ram@16M nvme:$(place "$A")@64M bb:$(place "$B")@64M" \
	--include "$mount" --drain-delay 100ms -- \
	"$top_builddir/tests/tier-steps" open:a open:b \
	write:a:1:0:64K:4K fsync:a write:b:1:0:64K:4K fsync:b \
	"call:$scratch/one" write:c:5:0:4K:4K fsync:c write:a:2:0:64K:4K \
	write:b:2:0:64K:4K sleep:3000 \
	fsync:a fsync:b "call:$scratch/two" unlink:b close:b "call:$scratch/three" \
	sleep:3000 "save:a:$scratch/a" >"$scratch/out" 2>"$scratch/err" &
run=$!
come "$scratch/one"
program=$(pgrep -P $run)
at_end "kill $program 2>/dev/null"
kill -KILL $run
wait $run || :
mv "$A" "$A.away"
echo >"$A"
touch "$scratch/one.over"
come "$scratch/two"
[ "$(cat .spillway-home.* | wc -l)" = 2 ] || fail "notes: $(ls -A)"

# One that is unlinked leaves nothing.
touch "$scratch/two.over"
come "$scratch/three"
for ((i = 0; i < 300; i++)); do
	[ "$(cat .spillway-home.* | wc -l)" != 1 ] || break
	sleep 0.1
done
[ "$i" -lt 300 ] || fail "of b: $(cat .spillway-home.*)"

# When the tier is back there is no need for it.
rm "$A"
mv "$A.away" "$A"
touch "$scratch/three.over"
while kill -0 $program 2>/dev/null; do
	sleep 0.05
done
go "at the end"
same_bytes a "$scratch/a"
