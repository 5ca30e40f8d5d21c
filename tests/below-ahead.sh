#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# below-ahead.sh -- what is fetched ahead of readers is still there when they come

. tests/functions.sh

# Six files in turns, of four times the memory, most of which stays dirty, since
# home stands still.
slow_mount_at still
mkdir "$scratch/disk"
spilled_flags=(-q --seed /dev/null --include "$scratch/still"
	--tiers "ram@64M nvme:$(place "$scratch/disk")@512M+raw")
spilled "$top_builddir/tests/bench-spill" "$scratch/still" 512 512 both \
	zeros 'i32 counter' 'i64 clock' 'i32 walk' table 'i32 range' >/dev/null
counter_is bytes_served $((256 << 20))
counter_above bytes_up $((128 << 20))
[ "$(counter bytes_up)" -lt $((320 << 20)) ] ||
	fail "$(counter bytes_up) bytes came up for $(counter bytes_served)"
