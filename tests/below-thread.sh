#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# below-thread.sh -- tiers with the drainer as a thread of the program: what it
# and its libraries open and close, and their rings, are not the program's

. tests/functions.sh
without_sanitizer thread "its library would come late, with the drainer"
requires python3 --version
slow_mount
mkdir "$scratch/tier"
tier=$(place "$scratch/tier")
cd "$scratch/slow"

# in_thread TIER: half of a, of which nothing gets home, does not fit in memory;
# b to e have the numbers that the drainer's first descriptors have.
in_thread()
{
	SPILLWAY_DRAINER=thread SPILLWAY_INCLUDE=$PWD \
		SPILLWAY_DRAIN_DELAY=60s SPILLWAY_TIERS="ram@16M $1" \
		timeout 60 env LD_PRELOAD="$preload" \
		"$top_builddir/tests/tier-steps" write:b:2:0:100000:1000 \
		write:c:3:0:100000:1000 write:d:4:0:100000:1000 \
		write:e:5:0:100000:1000 open:a "set:$PWD:stall=*" \
		write:a:1:0:32M:64K "call:$scratch/there" \
		check:b:0:100000:1000 write:b:6:50000:100000:1000 fsync:b \
		check:a:0:32M:256K check:b:0:150000:1000 \
		check:c:0:100000:1000 check:d:0:100000:1000 check:e:0:100000:1000 \
		"save:a:$scratch/a" "save:b:$scratch/b" \
		>"$scratch/out" 2>"$scratch/err" &
	for i in {1..600}; do
		[ ! -e "$scratch/there" ] && kill -0 $! 2>/dev/null || break
		sleep 0.1
	done
	[ -e "$scratch/there" ] ||
		fail "$1: $(cat "$scratch/out" "$scratch/err")"
	"$spillway" status --json --why >"$scratch/status"
	>.slowfs-control
	touch "$scratch/there.over"
	wait $! || fail "$1: $(cat "$scratch/out" "$scratch/err")"
	! grep -v '= 0$\|= right$' "$scratch/out" ||
		fail "$1: $(cat "$scratch/out")"
	python3 - "$scratch/status" <<-'PYTHON' || fail "$1: $(cat "$scratch/status")"
	import json, sys
	job, = json.load(open(sys.argv[1]))["jobs"]
	assert job["drainer"] == "thread" and not job["bypass"], job
	assert job["tiers"][0]["state"] == "open", job
	assert job["below_bytes"] > 4 << 20, job
	PYTHON
	same_bytes "$scratch/a" a
	same_bytes "$scratch/b" b
	! compgen -G "$shm_dir/spillway.*/*.seg" >/dev/null ||
		fail "$1: the segment is left"
	[ -z "$(ls "$scratch/tier")" ] || fail "$1: something is left"
	rm a b c d e "$scratch/there" "$scratch/there.over"
}

in_thread "nvme:$tier@64M"
in_thread "bb:$tier@64M"
! "$spillway" version --features | grep -q '^tiers.* pmem ' ||
	in_thread "pmem:$tier@64M"
