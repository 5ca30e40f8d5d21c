#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# powercut-home.sh -- what a program synced under Spillway survives each power
# cut

. tests/functions.sh
log=$top_builddir/tests/powercut-log
spilled_flags=(--include "$scratch/slow")
can_slow_mount

# lost FORM: how many cuts lost a record that was synced, of eight.
lost()
{
	local bad=0 point seed synced

	recorded_mount "$scratch/$1"
	spilled "$log" write $1 8 "$scratch/slow"
	counter_above writes_absorbed 0
	slow_unmount
	rm -r "$scratch/slow-back"
	for point in $(cut_points "$scratch/$1" 60); do
		for seed in 0 $((point + 2)); do
			power_cut "$scratch/$1" $point $seed
			synced=$(wc -l <"$scratch/marks")
			"$log" check $1 $synced "$scratch/cut" \
				>"$scratch/out" 2>&1 || bad=$((bad + 1))
		done
	done
	[ "$synced" = 8 ] || fail "$1: only $synced records"
	echo $bad
}

for form in fsync fdatasync reserved again published; do
	[ "$(lost $form)" = 0 ] || fail "$form lost something"
done
[ "$(lost no-sync)" -gt 0 ] || fail "a missing sync was not noticed"
