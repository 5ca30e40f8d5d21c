#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# tier-unread.sh -- a tier that takes bytes and cannot be read gets no more of
# them: what is written then is read from elsewhere; when it can, it gets some

. tests/functions.sh
slow_mount
slow_mount_at tier direct=1
mount=$scratch/slow tier=$scratch/tier
cd "$mount"

step()
{
	until [ -e "$scratch/step$1" ]; do
		kill -0 $run || fail "$(cat "$scratch/out" "$scratch/err")"
		sleep 0.05
	done
}

over()
{
	touch "$scratch/step$1.over"
}

bytes_down()
{
	"$spillway" status --json |
		sed -n 's/.*"bytes_down": *\([0-9]*\).*/\1/p'
}

# Home takes little: there is always something that waits for room.
"$spillway" run --tiers "ram@16M nvme:$(place "$tier")@128M" \
	--include "$mount" -- timeout 100 "$top_builddir/tests/tier-steps" \
	open:a open:b open:c "set:$mount:bandwidth=2000000" \
	write:a:1:0:24M:256K "call:$scratch/step1" check:a:0:24M:64K \
	"set:$mount:bandwidth=16000000" write:b:2:0:32M:256K \
	check:b:0:32M:64K "call:$scratch/step2" \
	"set:$mount:bandwidth=2000000" sleep:3000 write:c:3:0:24M:256K \
	"call:$scratch/step3" "set:$mount:bandwidth=0" check:a:0:24M:64K \
	check:b:0:32M:64K check:c:0:24M:64K \
	>"$scratch/out" 2>"$scratch/err" &
run=$!
at_end "kill $run 2>/dev/null"
step 1
[ "$(bytes_down)" -gt 4000000 ] || fail "nothing went down"
echo 'eio-read=*' >"$tier/.slowfs-control"
over 1
step 2
before=$(bytes_down)
>"$tier/.slowfs-control"
over 2
step 3
[ "$(bytes_down)" -gt $((before + 1000000)) ] || fail "it gets nothing again"
over 3
wait $run || fail "ended with $?: $(cat "$scratch/out" "$scratch/err")"
printf 'check %s\n' 'a = EIO' 'b = right' 'a = right' 'b = right' 'c = right' |
	diff -u - "$scratch/out" || fail "not right"
