#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# below-tier-faults.sh -- a tier that is full, slow or broken costs time; what
# it alone has is not to be read meanwhile, and right afterwards

. tests/functions.sh
slow_mount bandwidth=20000000 latency=2
slow_mount_at tier
mount=$scratch/slow tier=$scratch/tier
cd "$mount"

# steps NAME STEP...: what they print goes to $scratch/out.
steps()
{
	timeout 60 "$spillway" run --receipt "$receipt" "${spilled_flags[@]}" \
		-- "$top_builddir/tests/tier-steps" "${@:2}" \
		>"$scratch/out" 2>"$scratch/err" ||
		fail "$1: ended with $?: $(cat "$scratch/err")"
	counter_is bytes_undrained 0
}

# Puts or syncs fail from some point on: the writer goes on, and fsync is
# answered by home. Until then home stands still, so that the tier has some.
fails()
{
	steps "$kind: $1" open:a "set:$mount:stall=*" write:a:1:0:20M:256K \
		"set:$mount:stall=" "set:$tier:$1" \
		write:a:2:1000:4000000:10000 write:a:3:20M:4M:256K fsync:a \
		check:a:0:24M:256K "save:a:$scratch/a" close:a
	cat >"$scratch/words" <<-WORDS
	fsync a = 0
	check a = right
	close a = 0
	WORDS
	diff -u "$scratch/words" "$scratch/out" || fail "$kind: $1"
	counter_above bytes_down 1000000
	same_bytes "$scratch/a" a
	rm a
	>"$tier/.slowfs-control"
}

faults="enospc-after=4000000 eio-write=* eio-fsync=* latency=50 short=3000"
kinds="nvme bb"
[ "${SPILLWAY_CHECK_LONG:-}" != 1 ] || kinds="nvme bb pmem"
set -f
for kind in $kinds; do
	spilled_flags=(--tiers "ram@16M $kind:$(place "$tier")@128M"
		--include "$mount")
	for fault in $faults; do
		fails "$fault"
	done
	[ "${SPILLWAY_CHECK_LONG:-}" = 1 ] || faults="eio-fsync=*"
done
set +f
spilled_flags=(--tiers "ram@16M nvme:$(place "$tier")@128M"
	--include "$mount")

# Nothing gets home, so the tier alone has what memory has not.
steps eio-read open:a "set:$mount:stall=*" write:a:1:0:40M:256K \
	"set:$tier:eio-read=*" check:a:0:40M:256K try:a:2:100:4000 \
	write:a:2:8192:4M:4096 "set:$tier:eio-read=" check:a:0:40M:256K \
	write:a:3:100:4M:12345 check:a:0:40M:256K \
	"set:$mount:stall=" check:a:0:40M:256K "save:a:$scratch/a" close:a
grep -v '^try a = ' "$scratch/out" >"$scratch/told"
cat >"$scratch/words" <<'WORDS'
check a = EIO
check a = right
check a = right
check a = right
close a = 0
WORDS
diff -u "$scratch/words" "$scratch/told" || fail "eio-read"
same_bytes "$scratch/a" a
counter_above bytes_down 16000000
rm a

# It answers nobody for a while.
steps stall write:a:1:0:20M:256K "call:$scratch/stalled" \
	write:a:2:1000:20M:100000 check:a:0:20M:256K "save:a:$scratch/a" \
	fsync:a close:a &
run=$!
for i in $(seq 300); do
	[ ! -e "$scratch/stalled" ] || break
	sleep 0.1
done
echo "stall=*" >>"$tier/.slowfs-control"
touch "$scratch/stalled.over"
sleep 1.5
>"$tier/.slowfs-control"
wait $run || fail "stall"
! grep -v '= 0$\|= right$' "$scratch/out" || fail "a stalled tier was told"
same_bytes "$scratch/a" a
