#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# crash-fsync.sh -- what fsync promised is in the tier when the segment is gone

. tests/functions.sh
requires_disk

rounds=20
[ "${SPILLWAY_CHECK_LONG:-0}" != 1 ] || rounds=1000
mkdir below
"$top_builddir/tests/crash-fsync" "$shm_dir" "$here/below" $rounds ||
	fail "an fsync was answered for nothing"
