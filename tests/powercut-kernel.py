# SPDX-License-Identifier: BSD-3-Clause
# powercut-kernel.py -- the kernel changes a file while another's fsync is served
#
#	powercut-kernel.py CHANGE EXPECTED
#
# In the directory home below the root of a recording mount. What is dirty is
# stopped on its way home, for the sake of who wants the kernel to change the
# file; meanwhile somebody else's fsync is answered. Then the change is made,
# another fsync promises it, and what the file has is written to EXPECTED. A
# CHANGE+promised is a promise by itself.

import ctypes, mmap, os, sys, time

libc = ctypes.CDLL(None, use_errno=True)
off = ctypes.c_longlong
KEEP, PUNCH = 1, 2
RWF_DSYNC = 2


def knob(text):
    os.setxattr('..', 'user.slowfs', text.encode())


def is_stalled():
    with open('../.slowfs-control') as f:
        return 'stalled=0' not in f.read().split()


def wait_for(true, what):
    end = time.monotonic() + 30
    while not true():
        if time.monotonic() > end:
            sys.exit('waited in vain: ' + what)
        time.sleep(0.005)


def check(r):
    if r < 0:
        raise OSError(ctypes.get_errno(), 'change')


def punch(fd):
    check(libc.fallocate(fd, KEEP | PUNCH, off(20000), off(20000)))


def source(n):
    fd = os.open('source', os.O_RDWR | os.O_CREAT)
    os.pwrite(fd, b's' * n, 0)
    return fd


def copy(fd):
    assert os.copy_file_range(source(20000), fd, 20000, 0, 20000) == 20000


def send(fd):
    os.lseek(fd, 20000, os.SEEK_SET)
    assert os.sendfile(fd, source(20000), 0, 20000) == 20000


def splice(fd):
    r, w = os.pipe()
    os.write(w, b's' * 20000)
    at = off(20000)
    check(libc.splice(r, None, fd, ctypes.byref(at), 20000, 0))


def write_durably(fd):
    os.pwritev(fd, [b's' * 20000], 20000, RWF_DSYNC)


def cut(fd):
    os.ftruncate(fd, 30000)


def cut_and_extend(fd):
    os.ftruncate(fd, 30000)
    os.ftruncate(fd, 90000)


def extend(fd):
    os.ftruncate(fd, 150000)


def extend_by_allocation(fd):
    os.posix_fallocate(fd, 100000, 50000)


def by_mapping(fd):
    m = mmap.mmap(fd, 100000)
    m[20000:40000] = b's' * 20000
    m.flush()
    m.close()


def be_read(fd):
    os.sendfile(os.open('copy', os.O_WRONLY | os.O_CREAT), fd, 0, 1)


def sync_directory():
    os.fsync(os.open('.', os.O_RDONLY))


def take_place(new, fd):
    sync_directory()
    os.dup2(new, fd)


def replace(fd):
    new = os.open('new', os.O_RDWR | os.O_CREAT)
    os.pwrite(new, b's' * 30000, 0)
    os.fsync(new)
    os.rename('new', 'file')
    take_place(new, fd)


def make_again(fd):
    os.unlink('file')
    sync_directory()
    new = os.open('file', os.O_RDWR | os.O_CREAT | os.O_EXCL)
    os.pwrite(new, b's' * 30000, 0)
    take_place(new, fd)


changes = {
    'punch': punch, 'copy': copy, 'send': send, 'splice': splice, 'dsync': write_durably,
    'cut': cut, 'cut-extend': cut_and_extend, 'extend': extend,
    'allocate': extend_by_allocation, 'mmap': by_mapping,
}
# After all is home, for somebody who reads it through the kernel.
names = {'replace': replace, 'again': make_again}
change, _, promised = sys.argv[1].partition('+')
fd = os.open('file', os.O_RDWR | os.O_CREAT)
os.pwrite(fd, b'x' * 100000, 0)
os.fsync(fd)
sync_directory()
os.pwrite(fd, b'z' * 100000, 0)
knob('stall=home/file')
child = os.fork()
if child == 0:
    changes.get(change, be_read)(fd)
    os._exit(0)
wait_for(is_stalled, 'for home')
time.sleep(0.05)
os.fsync(fd)
knob('stall=')
if os.waitpid(child, 0)[1]:
    sys.exit('the change failed')
if change in names:
    names[change](fd)
if not promised:
    os.pwrite(fd, b'y', 0)
    os.fsync(fd)
knob('mark=changed')
with open(sys.argv[2], 'wb') as f:
    f.write(os.pread(fd, 200000, 0))
