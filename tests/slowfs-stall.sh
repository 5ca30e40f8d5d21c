#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# slowfs-stall.sh -- a stalled mount keeps requests waiting until it is let go

. tests/functions.sh
slow_mount
cd "$scratch/slow"

stalled() { sed -n 's/^stalled=//p' .slowfs-control; }

mkdir stuck free
echo before >stuck/file
touch stuck/{1..20}
echo stall=stuck >.slowfs-control
writers=()
for i in {1..20}; do
	echo "$i" >>"stuck/$i" &
	writers+=($!)
done
sync stuck/file &
writers+=($!)
for ((i = 0; $(stalled) < 21; i++)); do
	[ $i -lt 200 ] || fail "$(stalled) of 21 requests wait"
	sleep 0.05
done

# Others go on, and names can still be seen.
echo other >free/file
[ "$(stat -c %s stuck/file)" = 7 ] || fail "the size is gone"

: >.slowfs-control
for pid in "${writers[@]}"; do
	wait "$pid" || fail "a writer failed"
done
for i in {1..20}; do
	[ "$(cat stuck/$i)" = $i ] || fail "stuck/$i was not written"
done

# What waits at the end fails, and does not keep the mount.
echo stall=* >.slowfs-control
echo late >stuck/late 2>../err &
late=$!
for ((i = 0; $(stalled) < 1; i++)); do
	[ $i -lt 200 ] || fail "nothing waits"
	sleep 0.05
done
cd ..
slow_unmount
fails_with 1 wait "$late"
