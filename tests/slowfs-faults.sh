#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# slowfs-faults.sh -- the slow mount fails on request, and recovers

. tests/functions.sh
slow_mount control="$scratch/control"
cd "$scratch/slow"

put() { dd if=/dev/zero of="$1" bs=1000 count=100 status=none "${@:2}"; }

echo enospc-after=50000 >"$scratch/control"
fails_with 1 put full 2>../err
grep -q 'No space left' ../err || fail "not ENOSPC"
[ "$(stat -c %s full)" = 50000 ] || fail "not 50000 bytes"

echo eio-after=0 >"$scratch/control"
fails_with 1 put broken 2>../err
grep -q 'Input/output error' ../err || fail "not EIO"

echo eio-fsync=1 >"$scratch/control"
fails_with 1 put synced conv=fsync 2>../err
grep -q 'Input/output error' ../err || fail "not EIO from fsync"

# A writer that tries again after a short write gets there.
echo short=300 >"$scratch/control"
put shortened
[ "$(stat -c %s shortened)" = 100000 ] || fail "bytes lost"

: >"$scratch/control"
put whole conv=fsync
