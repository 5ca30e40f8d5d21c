#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# program-h5py.sh -- h5py writes, closes and reads HDF5 files

. tests/functions.sh
. "$srcdir/program-functions.sh"
python=/usr/bin/python3
$python -c 'import h5py' 2>/dev/null || python=python3
requires $python -c 'import h5py'

cat >arrays.py <<'PROGRAM'
import h5py
import numpy as np

rng = np.random.default_rng(1)
with h5py.File("a.h5", "w") as f:
    f.create_dataset("plain", data=np.arange(50000.0).reshape(500, 100))
    f.create_dataset("packed", data=rng.integers(0, 9, 40000),
                     chunks=(1000,), compression="gzip", shuffle=True)
    g = f.create_group("group")
    for i in range(100):
        g.create_dataset("d%d" % i, data=np.full(17, i))
    grow = f.create_dataset("grow", (0, 10), maxshape=(None, 10),
                            chunks=(64, 10), dtype="f4")
    for i in range(50):
        grow.resize(grow.shape[0] + 7, axis=0)
        grow[-7:] = i
    f.attrs["name"] = "value"
    f.flush()
with h5py.File("a.h5", "r+") as f:
    f["plain"][10:20] = -1
    del f["group/d7"]
    f["group/new"] = np.arange(5)
    print(f["plain"][:].sum(), f["grow"].shape, f["grow"][:].sum())
with h5py.File("a.h5", "r") as f:
    print(sorted(f), len(f["group"]), f["packed"][:].sum())
    print(f["group/d42"][:], dict(f.attrs))
with h5py.File("latest.h5", "w", libver="latest") as f:
    f.create_dataset("x", data=np.arange(1000), maxshape=(None,),
                     chunks=(100,))
    f.swmr_mode = True
    f["x"].resize((1100,))
    f["x"][1000:] = 5
    f["x"].flush()
with h5py.File("latest.h5", "r", libver="latest", swmr=True) as f:
    print(f["x"][:].sum())
try:
    h5py.File("nowhere.h5", "r")
except OSError as e:
    print(type(e).__name__)
PROGRAM
twins $python ../arrays.py
counter_above bytes_absorbed 400000
# Files hold the time of their objects; what is in them counts.
cat >show.py <<'PROGRAM'
import sys
import h5py
def show(name, item):
    print(name, item, item[()].tobytes().hex() if hasattr(item, "dtype")
          else "")
for name in sys.argv[1:]:
    with h5py.File(name, "r") as f:
        f.visititems(show)
PROGRAM
for at in plain spilled; do
	(cd $at && $python ../show.py a.h5 latest.h5) >$at.shown
	[ -s $at.shown ] || fail "nothing in the files of $at"
done
same_bytes plain.shown spilled.shown
