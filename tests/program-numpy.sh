#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# program-numpy.sh -- numpy: arrays in mapped files, saved and loaded

. tests/functions.sh
. "$srcdir/program-functions.sh"
python=/usr/bin/python3
$python -c 'import numpy' 2>/dev/null || python=python3
requires $python -c 'import numpy'

cat >arrays.py <<'PROGRAM'
import os
import numpy as np

a = np.memmap("map", dtype="float64", mode="w+", shape=(300, 100))
a[:] = np.arange(30000).reshape(300, 100)
a.flush()
print(os.path.getsize("map"), np.fromfile("map").sum())
a[10] = -1
b = np.memmap("map", dtype="float64", mode="r", shape=(300, 100))
print(b[10].sum(), b.sum())
del a, b
c = np.memmap("map", dtype="float64", mode="c", shape=(300, 100))
c[:] = 0
print(np.fromfile("map").sum())

# Written by calls, then mapped while the bytes may not be home.
x = np.arange(100000, dtype="int32")
x.tofile("raw")
y = np.memmap("raw", dtype="int32", mode="r+")
print((y == x).all())
y[::2] = 7
with open("raw", "r+b") as f:
    f.seek(4)
    f.write((123456).to_bytes(4, "little"))
print(y[0], y[1], np.fromfile("raw", dtype="int32")[:4])
del y
np.save("one.npy", x)
z = np.lib.format.open_memmap("one.npy", mode="r+")
z += 1
z.flush()
print(np.load("one.npy").sum(), np.load("one.npy", mmap_mode="r")[5])
np.savez("many.npz", x=x, y=x * 2)
with np.load("many.npz") as many:
    print(sorted(many), many["y"].sum())
os.unlink("many.npz")		# holds the time
np.savetxt("text", x[:1000].reshape(100, 10), fmt="%d")
print(np.loadtxt("text").sum())
PROGRAM
twins $python ../arrays.py
same_trees
bypassed mmap
counter_above bytes_absorbed 400000
