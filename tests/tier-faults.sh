#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# tier-faults.sh -- ENOSPC, EIO, short writes and a failing fsync below a tier

. tests/functions.sh
slow_mount

for kind in bb nvme pmem; do
	[ $kind != pmem ] || [ -e "$top_builddir/.libs/tier-pmem.so" ] ||
		continue
	"$top_builddir/tests/tier-faults" $kind "$scratch/slow" \
		"$scratch/slow/.slowfs-control"
	[ -z "$(ls "$scratch/slow")" ] || fail "$kind left something"
done
