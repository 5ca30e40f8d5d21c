#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# slowfs-calls.sh -- short writes, stale files and refused knobs, call by call

. tests/functions.sh

cat >expected <<'END'
knobs: set("short=300\neio-raed=*") = EINVAL
knobs: set("short") = EINVAL
knobs: set("short=many") = EINVAL
knobs: set("stalled=3") = EINVAL
cached: pwrite(fd, buf, 8192, 0) = 8192
cached: set("short=512") = 0
cached: pwrite(fd, buf, 8192, 0) = 512
cached: pwrite(fd, buf, 512, 8192) = 512
cached: set("short=0\nenospc-after=4096") = 0
cached: pwrite(fd, buf, 8192, 0) = 4096
cached: pwrite(fd, buf, 512, 0) = ENOSPC
cached: set("enospc-after=-1") = 0
END
sed -n '/^cached/s/cached/direct/p' expected >direct
cat direct >>expected
cat >>expected <<'END'
vanished: mkdir("gone", 0755) = 0
vanished: pwrite(fd, buf, 8192, 0) = 8192
vanished: set("vanish=gone") = 0
vanished: stat("gone/file", &st) = ENOENT
vanished: stat("gone", &st) = ENOENT
vanished: pwrite(fd, buf, 8192, 0) = ESTALE
vanished: fsync(fd) = ESTALE
vanished: open("gone/other", O_WRONLY | O_CREAT, 0644) = ENOENT
vanished: set("vanish=") = 0
vanished: pwrite(fd, buf, 8192, 0) = 8192
vanished: fsync(fd) = 0
vanished: stat("gone/file", &st) = 0
END

# Past the page cache for all files.  Without that, the kernel turns a short
# answer to an O_DIRECT write into EIO.
slow_mount direct=1
"$top_builddir/tests/slowfs-calls" "$scratch/slow" >out
diff -u expected out || fail "without the page cache"
slow_unmount
rm -r "$scratch/slow-back/gone"
slow_mount
"$top_builddir/tests/slowfs-calls" "$scratch/slow" >out
sed -i '/^direct: pwrite(fd, buf, 8192, 0) = \(512\|4096\)$/s/=.*/= EIO/' \
	expected
diff -u expected out || fail "with the page cache"
