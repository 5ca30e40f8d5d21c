# SPDX-License-Identifier: BSD-3-Clause
# program-multiprocessing.py -- workers that write, append and read files
"""program-multiprocessing.py METHOD"""

import hashlib
import multiprocessing
import os
import sys

RECORD = 100


def write_own(k):
    with open("own%d" % k, "wb") as f:
        for i in range(300):
            f.write(b"%d %d\n" % (k, i) * 20)
    return os.path.getsize("own%d" % k)


def append_shared(k):
    with open("shared", "ab", buffering=0) as f:
        for i in range(100):
            f.write(b"%05d %05d".ljust(RECORD - 1, b".") % (k, i) + b"\n")


def digest(name):
    with open(name, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def reader(name, queue):
    queue.put(digest(name))


def at_own_place(k, lock):
    fd = os.open("placed", os.O_RDWR | os.O_CREAT)
    os.pwrite(fd, bytes([65 + k]) * 10000, k * 10000)
    with lock:
        n = int(os.pread(fd, 20, 10 ** 6) or b"0")
        os.pwrite(fd, b"%020d" % (n + k), 10 ** 6)
    os.close(fd)


def main(method):
    ctx = multiprocessing.get_context(method)
    log = open("log", "w")
    print("before", file=log, flush=True)
    with ctx.Pool(3) as pool:
        print(pool.map(write_own, range(6)))
        pool.map(append_shared, range(6))
        print(pool.map(digest, ["own%d" % k for k in range(6)]))
    with open("shared", "rb") as f:
        lines = f.read().splitlines(keepends=True)
    print(len(lines), {len(line) for line in lines},
          len(set(lines)))
    with open("sorted", "wb") as f:
        f.writelines(sorted(lines))
    os.unlink("shared")
    queue, lock = ctx.Queue(), ctx.Lock()
    some = [ctx.Process(target=reader, args=("sorted", queue))
            for _ in range(3)]
    some += [ctx.Process(target=at_own_place, args=(k, lock))
             for k in range(4)]
    for p in some:
        p.start()
    print({queue.get() for _ in range(3)})
    for p in some:
        p.join()
        print(p.exitcode)
    print("after", file=log)
    log.close()
    print(os.path.getsize("log"), digest("placed"))


if __name__ == "__main__":
    main(sys.argv[1])
