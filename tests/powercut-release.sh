#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# powercut-release.sh -- when a file is home and its objects go, no power cut
# brings back older ones without the younger

. tests/functions.sh
. "$srcdir/powercut-tiers"
requires python3 -c 'import os'

# The old bytes and the new ones are in files of the log of their own.
cat >"$scratch/write.py" <<'EOF2'
import mmap, os
fd = os.open('file', os.O_RDWR | os.O_CREAT)
os.fsync(os.open('.', os.O_RDONLY))
for word in b'old', b'new':
    os.pwrite(fd, word * 1000000, 0)
    os.fsync(fd)
os.setxattr('..', 'user.slowfs', b'mark=new')
mmap.mmap(fd, 4096, prot=mmap.PROT_READ).close()	# sends it home
EOF2
drain_delay=60s
record "ram@64M nvme:$tier@16M" python3 "$scratch/write.py"
cut_after new "nvme:$tier" 'only new 1000000 file'
[ "$(grep -c 'make .* nvme-.*\.log' "$scratch/list")" -gt 3 ] ||
	fail "the log has too few files: $(cat "$scratch/list")"
