#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# powercut-leave.sh -- what the kernel made durable for a file that was left to
# it is not undone by what a tier had from before

. tests/functions.sh
. "$srcdir/powercut-tiers"
requires python3 -c 'import os'

cat >"$scratch/write.py" <<'EOF2'
import mmap, os, sys, time
fd = os.open('file', os.O_RDWR | os.O_CREAT)
os.fsync(os.open('.', os.O_RDONLY))
os.pwrite(fd, b'old' * 5000, 0)
os.fsync(fd)
end = time.monotonic() + 30
while os.stat(sys.argv[1]).st_size < 15000 and time.monotonic() < end:
    time.sleep(0.02)			# it goes home by itself
time.sleep(0.2)
mmap.mmap(fd, 4096, prot=mmap.PROT_READ).close()
os.pwrite(fd, b'new' * 5000, 0)		# by the kernel
os.fsync(fd)
os.setxattr('..', 'user.slowfs', b'mark=new')
time.sleep(0.2)
EOF2
record "ram@16M bb:$tier@16M" python3 "$scratch/write.py" \
	"$shm_dir/back/home/file"
cut_after new "bb:$tier" 'only new 5000 file'
