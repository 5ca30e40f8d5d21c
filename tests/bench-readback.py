# SPDX-License-Identifier: BSD-3-Clause
# bench-readback.py -- MB/s at which a file comes back that memory did not hold
#
# usage: bench-readback.py MOUNT SOURCE: MOUNT is a slowfs, which stands still
# meanwhile, so that all of the file is in memory and in tiers.

import os
import sys
import time

PART = 1 << 20

mount, source = sys.argv[1:]
data = open(source, "rb").read()
path = mount + "/readback"
fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
os.setxattr(mount, "user.slowfs", b"stall=*")
for at in range(0, len(data), PART):
    os.pwrite(fd, data[at:at + PART], at)
time.sleep(2)                           # what is on its way down arrives

part = bytearray(PART)
start = time.monotonic()
for at in range(0, len(data), PART):
    assert os.preadv(fd, [part], at) == PART
print("%.0f" % (len(data) / (time.monotonic() - start) / 1e6))
os.setxattr(mount, "user.slowfs", b"stall=")
os.unlink(path)
