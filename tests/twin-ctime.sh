#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-ctime.sh -- that bytes are on their way home is not to be seen by ctime

. tests/functions.sh
requires python3 --version
slow_mount bandwidth=4000000
cd "$scratch/slow"
spilled_flags=(--drain-delay 1ms)

# Written in a moment, home in two seconds, of which each part moves the ctime
# there; times are those of a clock that ticks.  What the program changes itself
# is to be seen, then and afterwards.
cat >"$scratch/look.py" <<'END'
import ctypes, os, time

TICK = 20000000
EXCHANGE = 2
MIB = 1 << 20

def look(seconds, mtime, ctime, what):
    end = time.monotonic() + seconds
    while True:
        st = os.fstat(fd)
        assert st.st_mtime_ns == mtime, "mtime moved after " + what
        assert abs(st.st_ctime_ns - ctime) < TICK, "ctime moved after " + what
        if time.monotonic() > end:
            return
        time.sleep(0.01)

def write_more():
    for i in range(8):
        os.pwrite(fd, bytes(MIB), i * MIB)
    return os.fstat(fd).st_mtime_ns, time.monotonic()

fd = os.open("file", os.O_RDWR | os.O_CREAT, 0o600)
written, since = write_more()
look(0.5, written, written, "write")

here = os.open(".", os.O_RDONLY)
me, group = os.getuid(), os.getgid()

def exchange():
    open("other", "w").close()
    assert ctypes.CDLL(None).renameat2(here, b"file", here, b"other",
                                       EXCHANGE) == 0
    os.rename("other", "file")

changes = {
    "utimens": lambda: os.utime(fd, ns=(written, written)),
    "chmod": lambda: os.chmod("file", 0o640),
    "fchmod": lambda: os.fchmod(fd, 0o640),
    "chown": lambda: os.chown("file", me, group),
    "lchown": lambda: os.lchown("file", me, group),
    "fchown": lambda: os.fchown(fd, me, group),
    "fchownat": lambda: os.chown("file", me, group, dir_fd=here),
    "rename": lambda: os.rename("file", "moved"),
    "renameat": lambda: os.rename("moved", "file", src_dir_fd=here),
    "renameat2": exchange,
    "link": lambda: os.link("file", "second"),
    "linkat": lambda: os.link("file", "third", src_dir_fd=here),
    "unlink": lambda: os.unlink("second"),
    "unlinkat": lambda: os.unlink("third", dir_fd=here),
    "setxattr": lambda: os.setxattr("file", "user.a", b"1"),
    "lsetxattr": lambda: os.setxattr("file", "user.b", b"1",
                                     follow_symlinks=False),
    "fsetxattr": lambda: os.setxattr(fd, "user.c", b"1"),
    "removexattr": lambda: os.removexattr("file", "user.a"),
    "lremovexattr": lambda: os.removexattr("file", "user.b",
                                           follow_symlinks=False),
    "fremovexattr": lambda: os.removexattr(fd, "user.c"),
}
for name, change in changes.items():
    if time.monotonic() - since > 1:	# half of it is home
        written, since = write_more()
    time.sleep(2 * TICK / 1e9)		# else one change looks like another
    before = time.time_ns()
    try:
        change()
    except OSError:
        if "xattr" in name:		# not on every file system
            continue
        raise
    changed = os.fstat(fd).st_ctime_ns
    assert changed > before - TICK, name + " is not to be seen"
    look(0.05, written, changed, name)
look(2.5, written, changed, name)
END
spilled python3 "$scratch/look.py"
counter_above bytes_absorbed $(((8 << 20) - 1))
counter_above requests_home 3
