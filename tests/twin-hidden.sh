#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-hidden.sh -- where a file that somebody has open cannot be removed at once,
# as on NFS, the drainer keeps no directory from being removed

. tests/functions.sh
requires_file "$top_builddir/tests/hidefs" "built without libfuse3"
requires python3 --version
[ -r /dev/fuse ] && [ -w /dev/fuse ] || cannot "no access to /dev/fuse"

cat >removals.py <<'PROGRAM'
import ctypes, os, shutil, sys
def put(name):
    with open(name, "wb", buffering=0) as f:
        f.write(b"x" * 50000)
def removed(how, path):
    try:
        how(path)
        print("removed")
    except OSError as e:
        print(e)
libc = ctypes.CDLL(None, use_errno=True)
for how in (shutil.rmtree, os.rmdir,
            lambda d: print(libc.remove(d.encode())),
            lambda d: print(libc.unlinkat(-100, d.encode(), 0x200))):
    os.mkdir("d")
    for i in range(5):
        put("d/f%d" % i)
    os.rename("d/f0", "d/f1")
    removed(os.rmdir, "d")
    for name in os.listdir("d") if how is not shutil.rmtree else ():
        os.unlink("d/" + name)
    removed(how, "d")
    print(os.path.exists("d"))
put("left")
PROGRAM

mkdir a mount back
at_end 'bash "$srcdir/service" stop "$scratch/hidefs.d"'
bash "$srcdir/service" start "$scratch/hidefs.d" 'mountpoint -q "$0"' \
	"$PWD/mount" -- "$top_builddir/tests/hidefs" "$PWD/back" "$PWD/mount" ||
	cannot "FUSE does not mount here"
(cd a && plain python3 ../removals.py) >a.out
for delay in 10s 0; do
	spilled_flags=(--drain-delay $delay)
	(cd mount && spilled python3 ../removals.py) >b.out
	counter_above writes_absorbed 20
	counter_is bytes_undrained 0
	diff -u a.out b.out || fail "with a delay of $delay"
	rm mount/left
	[ -z "$(ls -A back)" ] || fail "$(ls -A back) is left"
done
