#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# crash-vectors.sh -- what one call writes into one block from several places is
# there as a whole when its writer is killed, or not at all

. tests/functions.sh
requires python3 --version

cat >write.py <<'PROGRAM'
import os, sys
record = [b"h" * 16, b"", b"b" * 700, b"t" * 4]
fd = os.open("log", os.O_RDWR | os.O_CREAT |
             (os.O_APPEND if sys.argv[1] == "append" else 0))
os.lseek(fd, 0, os.SEEK_END)
if sys.argv[1] == "place":
    os.pwritev(fd, record, os.fstat(fd).st_size)
else:
    os.writev(fd, record)
PROGRAM

for way in append position place; do
	printf 'before' >log
	status=0
	{ SPILLWAY_FAILPOINT=write-flags:1 \
		spilled python3 write.py $way || status=$?; } 2>/dev/null
	[ $status != 0 ] || skip "needs: --enable-failpoints"
	[ $status = 137 ] || fail "$way: status $status"
	{ printf before; printf 'h%.0s' {1..16}; printf 'b%.0s' {1..700}
		printf tttt; } >whole
	cmp log whole || fail "$way: $(stat -c %s log) bytes"
done
