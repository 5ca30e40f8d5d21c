#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# powercut-log.sh -- what was synced survives each power cut, and what was not
# is missed

. tests/functions.sh
log=$top_builddir/tests/powercut-log
power_cut_flags=
can_slow_mount

# write_log FORM COUNT: a recording, $scratch/FORM.
write_log()
{
	recorded_mount "$scratch/$1"
	"$log" write $1 $2 "$scratch/slow"
	slow_unmount
	rm -r "$scratch/slow-back"
}

# lost_in RECORDING FORM COUNT SEED...: how many cuts lost a record that was
# synced.
lost_in()
{
	local recording=$1 form=$2 count=$3 bad=0 all=0
	local point seed synced

	shift 3
	for point in $(cut_points "$recording"); do
		for seed; do
			power_cut "$recording" $point $seed
			synced=$(wc -l <"$scratch/marks")
			all=$((all + 1))
			"$log" check $form $synced "$scratch/cut" \
				>"$scratch/out" 2>&1 || bad=$((bad + 1))
		done
	done
	[ "$synced" = $count ] || fail "$form: $synced of $count at the end"
	echo "$form: $all cuts, $bad lost something" >&2
	echo $bad
}

# lost FORM COUNT SEED...: the same, of a new recording.
lost()
{
	write_log $1 $2
	lost_in "$scratch/$1" "$@"
}

for form in fsync fdatasync direct dsync direct-dsync rwf-dsync allocated \
	reserved again punched msync published; do
	[ "$(lost $form 8 0 2 3)" = 0 ] || fail "$form"
done

# The check would notice: without the sync, at some cut something is lost, by
# dropping all of it and by dropping some.
for form in no-sync direct-no-sync no-msync no-name hurried unpublished; do
	[ "$(lost $form 8 0)" -gt 0 ] || fail "$form was not noticed"
	[ "$(lost $form 8 2 3)" -gt 0 ] || fail "$form was not noticed"
done

# Without a sync of the directory the name is there on some file systems.
power_cut_flags=-e
[ "$(lost no-name 8 0 2 3)" = 0 ] || fail "the name is lost with -e"
[ "$(lost no-sync 8 0)" -gt 0 ] || fail "no-sync was not noticed with -e"
power_cut_flags=

# A write that was asked to be durable needs no sync after it.
for form in dsync direct-dsync rwf-dsync; do
	"$log" unsync "$scratch/$form" "$scratch/$form.unsynced"
	[ "$(lost_in "$scratch/$form.unsynced" $form 8 0 2)" = 0 ] ||
		fail "$form without syncs"
done
"$log" unsync "$scratch/fsync" "$scratch/fsync.unsynced"
[ "$(lost_in "$scratch/fsync.unsynced" fsync 8 0)" -gt 0 ] ||
	fail "missing syncs were not noticed"
