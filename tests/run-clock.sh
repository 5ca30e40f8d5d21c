#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# run-clock.sh -- a clock that is set while a job runs makes it neither wait
# nor give up at its end

. tests/functions.sh
without_sanitizer thread "libfaketime waits for conditions past its library"
requires_disk
unset SPILLWAY_JOB
find_fake_clock

mkdir "$scratch/disk"
head -c 3000000 /dev/urandom >"$scratch/data"
export FAKETIME_TIMESTAMP_FILE=$scratch/time FAKETIME_NO_CACHE=1
export DONT_FAKE_MONOTONIC=1

# What waits for a time of day waits in the kernel, whose clock is right: one
# that is behind ends all such waits at once, one ahead does so after days.
for jump in -2d +9d; do
	for tiers in ram@16M "ram@4M nvme:$(place "$scratch/disk")@64M"; do
		echo +0 >"$scratch/time"
		LD_PRELOAD=$fake timeout 60 "$spillway" run --tiers "$tiers" \
			--include "$PWD" -- sh -c 'dd if="$1/data" of=file \
			bs=10000 conv=fsync status=none
			echo "$2" >"$1/time"
			dd if="$1/data" of=again bs=10000 status=none' sh \
			"$scratch" "$jump" >out 2>&1 ||
			fail "$jump: ended with $?: $(cat out)"
		[ ! -s out ] || fail "$jump: $(cat out)"
		same_bytes file "$scratch/data"
		same_bytes again "$scratch/data"
		! compgen -G "$shm_dir/spillway.*/*.seg" >/dev/null ||
			fail "$jump: a segment is left"
		rm file again
	done
done
