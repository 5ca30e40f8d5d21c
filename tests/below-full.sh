#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# below-full.sh -- when memory and tiers are full, writers wait for home: no
# error, no more memory, no busy loop

. tests/functions.sh
slow_mount bandwidth=60000000 latency=2
mount=$scratch/slow
cd "$mount"
mkdir "$scratch/tier"
spilled_flags=(--tiers "ram@16M nvme:$(place "$scratch/tier")@8M"
	--include "$mount")

# ticks PID: processor time of a process so far, in hundredths of a second.
ticks()
{
	sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'
}

spilled timeout 90 "$top_builddir/tests/tier-steps" write:a:1:0:40M:1M \
	"set:$mount:stall=*" "call:$scratch/full" write:a:2:1000:28M:300000 \
	fsync:a check:a:0:40M:256K "save:a:$scratch/a" close:a \
	>"$scratch/out" 2>"$scratch/err" &
run=$!
for i in $(seq 600); do
	[ ! -e "$scratch/full" ] || break
	sleep 0.1
done
touch "$scratch/full.over"
sleep 1				# it is stuck by now
before=$(ticks $run)
sleep 2
busy=$(($(ticks $run) - before))
memory=$(du -sk "$shm_dir" | cut -f 1)
disk=$(find "$scratch/tier" -type f -printf '%k\n' |
	awk '{ n += $1 } END { print n }')
echo stall= >>.slowfs-control
wait $run || fail "ended with $?: $(cat "$scratch/err")"

cat >"$scratch/words" <<'WORDS'
fsync a = 0
check a = right
close a = 0
WORDS
diff -u "$scratch/words" "$scratch/out" || fail "an error was told"
same_bytes "$scratch/a" a
counter_is bytes_undrained 0
counter_above bytes_down 4000000
counter_above waits_for_room 0
[ $busy -lt 100 ] || fail "$busy ticks in two seconds of waiting"
[ $memory -lt $((20 * 1024)) ] || fail "$memory KiB of memory"
[ $disk -le $((8 * 1024)) ] || fail "$disk KiB in the tier"
