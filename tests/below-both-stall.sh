#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# below-both-stall.sh -- while home stalls a writer waits for a tier that comes back

. tests/functions.sh
requires python3 --version

slow_mount_at still
slow_mount_at disk
spilled_flags=(-q --include "$scratch/still"
	--tiers "ram@16M nvme:$(place "$scratch/disk")@256M+raw")
spilled python3 - "$scratch" <<'END' || fail "it waited for home"
import os, sys, threading

still, disk = sys.argv[1] + "/still", sys.argv[1] + "/disk"
fd = os.open(still + "/file", os.O_RDWR | os.O_CREAT, 0o600)

def stall(mount, what):
    os.setxattr(mount, "user.slowfs", b"stall=" + what)

stall(still, b"*")
for i in range(24):
    os.write(fd, bytes([i]) * (1 << 20))
stall(disk, b"*")
threading.Timer(2.6, stall, (disk, b"")).start()
patience = threading.Timer(20, stall, (still, b""))
patience.start()
for i in range(24, 80):
    os.write(fd, bytes([i]) * (1 << 20))
assert patience.is_alive()
patience.cancel()
for i in range(80):
    assert os.pread(fd, 1, i << 20) == bytes([i]), i
stall(still, b"")
END
counter_above bytes_down $((40 << 20))
counter_is bytes_undrained 0
