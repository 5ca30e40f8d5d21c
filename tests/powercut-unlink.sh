#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# powercut-unlink.sh -- a file that another one replaced, and that is back
# after a power cut, has what was fsynced

. tests/functions.sh
. "$srcdir/powercut-tiers"
requires python3 -c 'import os'

cat >"$scratch/write.py" <<'EOF2'
import os, time
def write(name, word):
    fd = os.open(name, os.O_RDWR | os.O_CREAT)
    os.pwrite(fd, word * 5000, 0)
    os.fsync(fd)
    os.close(fd)
write('file', b'old')
os.fsync(os.open('.', os.O_RDONLY))
os.setxattr('..', 'user.slowfs', b'mark=old')
write('other', b'new')
os.rename('other', 'file')
for i in range(3):			# time to let go of it, and to sync that
    time.sleep(0.2)
    write('third', b'%3d' % i)
EOF2
old_or_new()
{
	[ -z "$(only old 5000 file)" ] || only new 5000 file
}
drain_delay=60s
record "ram@16M bb:$tier@16M" python3 "$scratch/write.py"
cut_after old "bb:$tier" old_or_new
