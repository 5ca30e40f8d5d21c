#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# powercut-sync.sh -- what sync and syncfs made durable at home is not undone by
# what a tier had from before

. tests/functions.sh
. "$srcdir/powercut-tiers"
requires python3 -c 'import os'

# The mount knows of no sync of all of it: what is fsynced for it counts.
cat >"$scratch/write.py" <<'EOF2'
import ctypes, os, sys, time
fd = os.open('file', os.O_RDWR | os.O_CREAT)
os.pwrite(fd, b'old' * 5000, 0)
os.fsync(fd)
os.fsync(os.open('.', os.O_RDONLY))
os.pwrite(fd, b'new' * 5000, 0)
end = time.monotonic() + 30
while time.monotonic() < end:
    with open(sys.argv[1], 'rb') as home:
        if home.read() == b'new' * 5000:	# it went home by itself
            break
    time.sleep(0.02)
time.sleep(0.2)
if sys.argv[2] == 'sync':
    os.sync()
else:
    assert ctypes.CDLL(None).syncfs(fd) == 0
os.setxattr('..', 'user.slowfs', b'mark=new')
EOF2
for call in sync syncfs; do
	record "ram@16M bb:$tier@16M" python3 "$scratch/write.py" \
		"$shm_dir/back/home/file" $call
	cut_after new "bb:$tier" 'only new 5000 file'
done
