#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# below-home-faults.sh -- home fails while a tier holds most of the bytes:
# told once, nothing lost, everything home when it is well again

. tests/functions.sh
slow_mount bandwidth=10000000 latency=2
mount=$scratch/slow
cd "$mount"
mkdir "$scratch/tier"
spilled_flags=(--tiers "ram@16M nvme:$(place "$scratch/tier")@128M"
	--include "$mount")

# What the steps begin with: most of a is in the tier, since home stands still
# while it is written.
full=(open:a open:b "set:$mount:stall=*" write:a:1:0:32M:256K
	"set:$mount:stall=")

# through FAULT HEAL ERROR STEP...: the steps are made while the fault lasts.
through()
{
	spilled timeout 60 "$top_builddir/tests/tier-steps" "${full[@]}" \
		"set:$mount:$1" \
		write:b:2:0:40000:10000 sleep:1200 \
		"${@:4}" check:a:0:32M:64K "set:$mount:$2" \
		write:a:3:5000:4000000:100000 check:a:0:32M:64K \
		fsync:a close:a close:b "save:a:$scratch/a" \
		"save:b:$scratch/b" >"$scratch/out" 2>"$scratch/err" ||
		fail "$1: ended with $?: $(cat "$scratch/err")"
	if [ "${4:-}" = fsync:a ]; then
		printf 'fsync a = %s\n' $3
	fi >"$scratch/words"
	cat >>"$scratch/words" <<-WORDS
	check a = right
	check a = right
	fsync a = 0
	close a = 0
	close b = 0
	WORDS
	# b may not have been tried before home was well again.
	sed "s/^close b = $3\$/close b = 0/" "$scratch/out" >"$scratch/told"
	diff -u "$scratch/words" "$scratch/told" || fail "$1"
	same_bytes "$scratch/a" a
	same_bytes "$scratch/b" b
	counter_is bytes_undrained 0
	counter_above bytes_down 8000000
	counter_above bytes_up 8000000
	rm a b
}

through enospc-after=1000000 enospc-after=-1 ENOSPC fsync:a
through eio-after=1000000 eio-after=-1 EIO fsync:a
through short=100000 short=0 0 fsync:a

# release AFTER: lets a stalled home go on, so long after the file $scratch/go
# is there. Reads of what is home wait for that.
release()
{
	touch "$scratch/go.over"
	until [ -e "$scratch/go" ]; do
		sleep 0.1
	done
	sleep $1
	>"$mount/.slowfs-control"
}

# A sync would wait for home, as it does without Spillway.
release 3 &
through "stall=*" "stall=" 0 "call:$scratch/go"
wait $!
rm "$scratch/go" "$scratch/go.over"

# Times cannot be set, which nobody but the drainer wants: what is below is
# read all the same, and there is room for more.
release 0 &
spilled timeout 60 "$top_builddir/tests/tier-steps" "${full[@]}" \
	"set:$mount:stall-change=*" \
	write:b:2:0:40000:10000 sleep:1000 check:a:0:32M:64K \
	write:a:3:16M:32M:256K check:a:0:48M:64K "call:$scratch/go" \
	fsync:a close:a "save:a:$scratch/a" >"$scratch/out" 2>"$scratch/err" ||
	fail "times: ended with $?: $(cat "$scratch/out" "$scratch/err")"
wait $!
same_bytes "$scratch/a" a
[ -z "$(find "$scratch/tier" -name '*.log')" ] || fail "logs were left"
