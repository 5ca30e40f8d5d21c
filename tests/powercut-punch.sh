#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# powercut-punch.sh -- fsync covers what the kernel changed at home for a call
# of the program

. tests/functions.sh
. "$srcdir/powercut-tiers"
requires python3 -c 'import os'

cat >"$scratch/write.py" <<'EOF2'
import ctypes, os
fd = os.open('file', os.O_RDWR | os.O_CREAT)
os.fsync(os.open('.', os.O_RDONLY))
os.pwrite(fd, b'x' * 100000, 0)
os.fsync(fd)
off = ctypes.c_long
keep_size, punch_hole = 1, 2
assert ctypes.CDLL(None).fallocate(fd, keep_size | punch_hole, off(20000),
                                   off(20000)) == 0
os.pwrite(fd, b'y', 0)
os.fsync(fd)
os.setxattr('..', 'user.slowfs', b'mark=punched')
EOF2
is_punched()
{
	[ "$(tr -d '\0' <file | wc -c)" = 80000 ] || echo "the hole is gone"
	[ "$(head -c 2 file)" = yx ] || echo "a byte is gone"
}
record "ram@16M bb:$tier@16M" python3 "$scratch/write.py"
cut_after punched "bb:$tier" is_punched
