#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# below-latency.sh -- a reader that goes on does not wait for a tier each time

. tests/functions.sh
requires python3 --version

# 64 objects in a tier that takes 50 ms for each request, eight of which make
# one, of a file whose home stands still. With 10 ms, one after the other took
# 3.5 s.
slow_mount_at still
slow_mount_at disk
spilled_flags=(-q --include "$scratch/still"
	--tiers "ram@16M nvme:$(place "$scratch/disk")@256M+raw+io=buffered")
spilled python3 - "$scratch" <<'END' >seconds
import os, sys, time

still, disk = sys.argv[1] + "/still", sys.argv[1] + "/disk"
block = 1 << 20
fd = os.open(still + "/file", os.O_RDWR | os.O_CREAT, 0o600)
os.setxattr(still, "user.slowfs", b"stall=*")
for i in range(80):
    os.write(fd, bytes([i]) * block)
os.setxattr(disk, "user.slowfs", b"latency=50")
start = time.monotonic()
for i in range(64):
    assert os.pread(fd, block, i * block) == bytes([i]) * block, i
print(time.monotonic() - start)
os.setxattr(disk, "user.slowfs", b"latency=0")
os.setxattr(still, "user.slowfs", b"stall=")
END
counter_above bytes_up $((60 << 20))
awk '$1 > 9 { exit 1 }' seconds || fail "read in $(cat seconds) s"
