#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recover-left.sh -- a tier that was gone when its objects had become old has
# them again later: recover does not put them over what is younger

. tests/functions.sh
slow_mount_at tier
tier=$scratch/tier
place=$(place "$tier")

gone()
{
	local i

	for i in {1..300}; do
		compgen -G "$shm_dir/spillway.*/*.seg" >/dev/null || return 0
		sleep 0.1
	done
	fail "the segment is left"
}

# left KIND HOW: a is fsynced to the tier, which then is not there while other
# bytes, not for all of it, go home; HOW is `run' or `agent' where the job ends
# with it, `killed' where its drainer is killed before.
left()
{
	local run i host=("$spillway" run --)

	[ $2 != agent ] || host=(env LD_PRELOAD="$preload")
	SPILLWAY_TIERS="ram@16M $1:$place@32M" SPILLWAY_INCLUDE=$PWD \
		"${host[@]}" "$top_builddir/tests/tier-steps" write:a:1:0:640K:64K fsync:a \
		write:b:1:0:64K:64K fsync:b "call:$scratch/go" \
		write:a:2:64K:320K:64K fsync:a write:a:3:0:64K:64K \
		"save:a:$scratch/a" "save:b:$scratch/b" \
		>"$scratch/out" 2>"$scratch/err" &
	run=$!
	for i in {1..200}; do
		[ ! -e "$scratch/go" ] || break
		sleep 0.05
	done
	if [ $2 = killed ]; then
		kill -9 $run
		wait $run || :
	fi 2>/dev/null
	[ -n "$(find "$tier/" -name '*.log' -o -name '*.object')" ] ||
		fail "$1, $2: nothing in the tier"
	echo 'vanish=spillway-*' >>"$tier/.slowfs-control"
	touch "$scratch/go.over"
	gone
	[ "$(grep -cx 'fsync [ab] = 0' "$scratch/out")" = 3 ] ||
		fail "$1, $2: $(cat "$scratch/out")"
	>"$tier/.slowfs-control"
	same_bytes "$scratch/a" a
	"$spillway" recover -y --tiers "$1:$place" >"$scratch/out" 2>&1 ||
		fail "$1, $2: $(cat "$scratch/out")"
	same_bytes "$scratch/a" a
	same_bytes "$scratch/b" b
	[ -z "$(ls "$tier")" ] || fail "$1, $2: something was left"
	rm a b "$scratch/go" "$scratch/go.over"
}

# Home has all the bytes but cannot be synced: what the tier has promised stays
# promised, and the segment with it.
slow_mount
for kind in nvme bb; do
	timeout 60 "$spillway" run --tiers "ram@16M $kind:$place@32M" \
		--include "$scratch/slow" -- \
		bash -c 'cd "$1" && "$0" write:a:1:0:64K:64K fsync:a \
			"set:$1:eio-fsync=*" write:a:2:0:64K:64K \
			"save:a:$2"' "$top_builddir/tests/tier-steps" \
		"$scratch/slow" "$scratch/a" >"$scratch/out" 2>"$scratch/err" ||
		fail "$kind: ended with $?: $(cat "$scratch/err")"
	compgen -G "$shm_dir/spillway.*/*.seg" >/dev/null ||
		fail "$kind: the segment was given up"
	>"$scratch/slow/.slowfs-control"
	gone
	for i in {1..50}; do		# the agent itself goes a moment later
		[ -n "$(ls "$tier")" ] || break
		sleep 0.1
	done
	[ -z "$(ls "$tier")" ] || fail "$kind: something was left"
	same_bytes "$scratch/a" "$scratch/slow/a"
	rm "$scratch/slow/a"
done

for kind in nvme bb; do
	left $kind killed
	left $kind run
	left $kind agent
done
