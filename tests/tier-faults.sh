#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# tier-faults.sh -- ENOSPC, EIO, short writes and a failing fsync below a tier

. tests/functions.sh
: >"$scratch/control"
slow_mount control="$scratch/control"

for kind in bb nvme pmem; do
	[ $kind != pmem ] || [ -e "$top_builddir/.libs/tier-pmem.so" ] ||
		continue
	"$top_builddir/tests/tier-faults" $kind "$scratch/slow" \
		"$scratch/control"
	[ -z "$(ls "$scratch/slow")" ] || fail "$kind left something"
done
