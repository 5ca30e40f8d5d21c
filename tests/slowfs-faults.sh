#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# slowfs-faults.sh -- the slow mount fails on request, and recovers

. tests/functions.sh
slow_mount
cd "$scratch/slow"

put() { dd if=/dev/zero of="$1" bs=1000 count=100 status=none "${@:2}"; }

# says TEXT CMD...: the command fails, and TEXT is why.
says()
{
	fails_with 1 "${@:2}" 2>../err
	grep -q "$1" ../err || fail "${*:2}: not $1: $(cat ../err)"
}

echo enospc-after=50000 >.slowfs-control
says 'No space left' put full
[ "$(stat -c %s full)" = 50000 ] || fail "not 50000 bytes"
echo enospc-after=50000 >.slowfs-control
says 'No space left' fallocate -l 50001 full
fallocate -l 49000 full
grep -qx enospc-after=1000 .slowfs-control || fail "bytes left not told"

echo edquot-after=2500 >.slowfs-control
says 'Disk quota exceeded' put full

echo eio-after=0 >.slowfs-control
says 'Input/output error' put broken

echo 'eio-fsync=syn*' >.slowfs-control
put unsynced conv=fsync
says 'Input/output error' put synced conv=fsync

# Some files only: by name, by directory.
mkdir sick well
printf 'only=sick\neio-after=0\n' >.slowfs-control
put well/a
says 'Input/output error' put sick/a
printf 'eio-write=*/b\neio-read=well\n' >.slowfs-control
put sick/a
says 'Input/output error' put sick/b
says 'Input/output error' cat well/a
cat sick/a >../out

# A knob is added to the others.  A writer that tries again after a short
# write gets there.
echo eio-read=well >.slowfs-control
echo short=300 >>.slowfs-control
says 'Input/output error' cat well/a
put shortened
[ "$(stat -c %s shortened)" = 100000 ] || fail "bytes lost"

: >.slowfs-control
put whole conv=fsync
ls -A | grep -q slowfs-control && fail "the control file is listed"
exit 0
