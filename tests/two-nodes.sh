#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# two-nodes.sh -- two segments are as two nodes: each writes its own parts of
# one file, and who opens it later sees them all

. tests/functions.sh
slow_mount bandwidth=80000000 latency=1
mount=$scratch/slow
cd "$mount"
mkdir "$scratch/tier"
program=$top_builddir/tests/tier-steps

# node NAME STEP...: on a node of its own.
node()
{
	mkdir -p "$shm_dir/$1"
	SPILLWAY_JOB=$1 "$spillway" run --receipt "$scratch/$1.json" \
		--shm-dir "$shm_dir/$1" --include "$mount" \
		--tiers "ram@16M nvme:$(place "$scratch/tier")@128M" -- \
		"$program" "${@:2}" >"$scratch/$1.out" 2>"$scratch/$1.err" ||
		fail "$1 ended with $?: $(cat "$scratch/$1.err")"
}

# both LENGTH PIECE: pieces of one and of the other node in turn.
both()
{
	local one two step=$(($2 * 2))

	node one write:f:1:0:$1:$2:$step fsync:f write:f:3:0:$1:$2:$step \
		close:f &
	one=$!
	node two write:f:2:$2:$1:$2:$step fsync:f close:f &
	two=$!
	wait $one || fail "the first node"
	wait $two || fail "the second node"
	"$program" expect:f:3:0:$1:$2:$step expect:f:2:$2:$1:$2:$step \
		check:f:0:$(($1 / step * step)):$2 >"$scratch/out"
	grep -qx 'check f = right' "$scratch/out" ||
		fail "pieces of $2: $(cat "$scratch/out")"
}

both 24000000 10000
receipt=$scratch/one.json
counter_is bytes_undrained 0
rm f

# Forty pieces of a block, and every other one of them is another node's.
both 400000 100
counter_is bytes_undrained 0
rm f

# Close to open: the second node has the file in its cache, and a part of it
# was written by the first since.
node two write:g:2:1000:2900000:100000 close:g "call:$scratch/closed" \
	expect:g:1:3000000:5000000:100000 expect:g:1:500:300:300 \
	check:g:0:8000000:100000 close:g &
two=$!
for i in $(seq 200); do
	[ ! -e "$scratch/closed" ] || break
	sleep 0.1
done
node one write:g:1:3000000:5000000:100000 write:g:1:500:300:300 close:g
touch "$scratch/closed.over"
wait $two || fail "the second node"
grep -qx 'check g = right' "$scratch/two.out" ||
	fail "not seen: $(cat "$scratch/two.out")"

# The same while bytes of its own are not home, whose coming moves the time by
# which a change is told: before it opens the file anew, and in between.
for pause in 0 1000; do
	rm -f "$scratch"/written*
	node two open:h write:h:2:0:800000:100000 "call:$scratch/written" \
		write:h:3:400000:100000:1000 "sleep:$pause" close:h \
		expect:h:1:0:300000:100000 check:h:0:800000:100000 close:h &
	two=$!
	for i in $(seq 200); do
		[ ! -e "$scratch/written" ] || break
		sleep 0.1
	done
	"$spillway" drain --wait --shm-dir "$shm_dir/two" two 2>err ||
		fail "$(cat err)"
	node one write:h:1:0:300000:100000 close:h
	touch "$scratch/written.over"
	wait $two || fail "the second node"
	grep -qx 'check h = right' "$scratch/two.out" ||
		fail "not seen after $pause ms: $(cat "$scratch/two.out")"
done
