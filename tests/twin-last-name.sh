#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-last-name.sh -- a file whose last name is one that it had before comes
# home under it

. tests/functions.sh
requires python3 --version

# In another directory meanwhile; who opens it there and is killed leaves no
# other trace of where it is. A program, since the drainer does not hold those
# open.
cat >last-name.py <<'PROGRAM'
import os, signal
def put(name, how, byte):
    fd = os.open(name, os.O_WRONLY | how, 0o755)
    os.write(fd, byte * 5000)
    return fd
os.mkdir("sub")
for i in range(10):
    name, other, new = "name%d" % i, "sub/other%d" % i, "new%d" % i
    os.close(put(name, os.O_CREAT, b"a"))
    os.link(name, "link")
    os.rename("link", other)
    os.close(put(new, os.O_CREAT, b"b"))
    os.rename(new, other)
    child = os.fork()
    if not child:
        put(name, os.O_APPEND, b"c")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
PROGRAM
spilled_flags=(--drain-timeout 10s)
mkdir c d
(cd c && plain python3 ../last-name.py)
(cd d && spilled python3 ../last-name.py) || fail "under its last name"
counter_above writes_absorbed 20
counter_is bytes_undrained 0
diff -r c d || fail "contents differ under the last name"
