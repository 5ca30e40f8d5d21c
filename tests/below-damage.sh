#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# below-damage.sh -- a tier loses or garbles what it alone has: reads of that
# fail, all else is right, the user is told which file and where, and what is
# written anew is well again

. tests/functions.sh
requires python3 --version
slow_mount
mount=$scratch/slow
cd "$mount"
mkdir "$scratch/tier"

# Of the largest file of the tier: its name.
largest()
{
	find "$scratch/tier" -type f -printf '%b %p\n' | sort -n | tail -n 1 |
		cut -d ' ' -f 2-
}

corrupt()
{
	printf 'this was not written by anybody' |
		dd of="$(largest)" bs=1 seek=$1 conv=notrunc status=none
}

shorten()
{
	find "$scratch/tier" -type f \( -name '*.log' -o -name '*.object' \) \
		-exec truncate -s 40000 {} +
}

remove()
{
	rm -rf "$scratch"/tier/*
}

# damaged NAME TIER DAMAGE STEP...: nothing gets home while the tier is
# damaged; the steps follow then. What the run says is in $scratch/err.
damaged()
{
	local status=0 name=$1

	rm -f "$scratch/go" "$scratch/go.over"
	: >"$scratch/out"
	spilled_flags=(--tiers "ram@16M $2" --include "$mount")
	spilled timeout 60 "$top_builddir/tests/tier-steps" open:a \
		"set:$mount:stall=*" write:a:1:0:24M:256K \
		"call:$scratch/go" "${@:4}" "save:a:$scratch/a" \
		>"$scratch/out" 2>"$scratch/err" &
	until [ -e "$scratch/go" ]; do
		kill -0 $! || fail "$name: $(cat "$scratch/out" "$scratch/err")"
		sleep 0.1
	done
	$3
	touch "$scratch/go.over"
	wait $! || status=$?
	echo $status >"$scratch/status"
	cat "$scratch/out" "$scratch/err" >&2
	counter_above bytes_down 2000000
}

ended_with()
{
	[ "$(cat "$scratch/status")" = $1 ] ||
		fail "$name: ended with $(cat "$scratch/status"), not $1"
}

# The bytes that the receipt says are lost, and nothing else, are wrong at
# home.
only_lost_differ()
{
	python3 - "$receipt" "$scratch/a" a <<-'PYTHON'
	import json, sys
	lost = json.load(open(sys.argv[1]))["lost"]
	want, have = (bytearray(open(f, "rb").read()) for f in sys.argv[2:])
	have += bytes(len(want) - len(have))
	assert lost, "nothing is lost"
	for l in lost:
	    assert l["path"].endswith("/a") and l["to"] > l["from"], l
	    assert "tier " in l["where"], l
	    want[l["from"]:l["to"]] = have[l["from"]:l["to"]]
	assert want == have, "more is lost than was said"
	PYTHON
}

# Told once, with the file's range and where that is in the tier.
told()
{
	[ "$(grep -c "/a: bytes .*, tier .*: $1  \[W169\]" "$scratch/err")" = \
		$2 ] || fail "$name: told: $(cat "$scratch/err")"
}

# The agent that goes on with what cannot be had, and all that is left.
give_up()
{
	local agent

	agent=$(sed -n 's/.*agent goes on (pid \([0-9]*\)).*/\1/p' "$scratch/err")
	[ -z "$agent" ] || kill -9 $agent
	>"$mount/.slowfs-control"
	rm -rf a "$scratch"/tier/* "$shm_dir"/spillway.*/*.seg
}

garbled()
{
	# Bytes of one object change: the rest of it can still be read.
	damaged "$name" "$name:$scratch/tier@64M" "corrupt 300000" \
		check:a:0:24M:64K check:a:0:24M:64K "set:$mount:stall="
	ended_with 122
	[ "$(grep -c 'check a = EIO' "$scratch/out")" = 2 ] ||
		fail "$name: $(cat "$scratch/out")"
	[ "$(grep -c 'check a: 38[0-3] right, [1-4] failed' "$scratch/err")" = \
		2 ] || fail "$name: too much is lost"
	told damaged 1
	only_lost_differ
	fails_with 1 "$spillway" fsck --tiers "$name:$scratch/tier" \
		>"$scratch/fsck" 2>&1
	grep -q '/a: bytes .*\[W169\]' "$scratch/fsck" ||
		fail "$name: fsck: $(cat "$scratch/fsck")"
	give_up

	# What is written over is well again, and there is nothing to tell at
	# the end.
	damaged "$name" "$name:$scratch/tier@64M" "corrupt 300000" \
		check:a:0:24M:64K write:a:2:0:24M:64K check:a:0:24M:64K \
		"set:$mount:stall=" fsync:a
	ended_with 0
	grep -qx 'check a = right' "$scratch/out" || fail "$name: not well again"
	same_bytes "$scratch/a" a
	give_up
}

for name in nvme bb; do
	[ $name = bb ] && [ "${SPILLWAY_CHECK_LONG:-}" != 1 ] || garbled

	# All that the tier has is gone, or the end of it.
	damage=shorten
	[ $name = nvme ] || damage=remove
	damaged "$name $damage" "$name:$scratch/tier@64M" $damage \
		check:a:0:24M:64K "set:$mount:stall=" \
		write:b:2:0:24M:64K check:b:0:24M:64K fsync:b
	ended_with 122
	grep -qx 'check a = EIO' "$scratch/out" || fail "$name: a is there"
	grep -qx 'check b = right' "$scratch/out" || fail "$name: b"
	grep -qx 'fsync b = 0' "$scratch/out" || fail "$name: b"
	only_lost_differ
	give_up
done

# Files that are open outlive their names.
damaged "open files" "nvme:$scratch/tier@64M" remove check:a:0:24M:64K \
	"set:$mount:stall=" write:b:2:0:24M:64K check:b:0:24M:64K fsync:b
ended_with 0
! grep -v '= right$\|= 0$' "$scratch/out" || fail "open files"
same_bytes "$scratch/a" a
