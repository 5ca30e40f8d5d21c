# SPDX-License-Identifier: BSD-3-Clause
# bench-files.py -- two files as simulations write them, for bench-engine
#
# usage: bench-files.py DIR
#
# wave.npy: a wave on a membrane, steps one after the other (numpy).
# gas.h5: particles in a box, positions, momenta, energies and ids of several
# steps (h5py).  Both are computed, none is drawn at random but the start.

import os
import sys

import numpy

into = sys.argv[1]

n, steps = 512, 12
y, x = numpy.mgrid[0:1:n * 1j, 0:1:n * 1j]
now = numpy.exp(-200 * ((x - 0.4) ** 2 + (y - 0.55) ** 2))
before = now.copy()
frames = []
for step in range(20 * steps):
    bend = (numpy.roll(now, 1, 0) + numpy.roll(now, -1, 0) +
            numpy.roll(now, 1, 1) + numpy.roll(now, -1, 1) - 4 * now)
    now, before = 1.998 * now - 0.998 * before + 0.2 * bend, now
    now[0] = now[-1] = 0
    now[:, 0] = now[:, -1] = 0
    if step % 20 == 0:
        frames.append(now.copy())
numpy.save(os.path.join(into, "wave.npy"), numpy.array(frames))

try:
    import h5py
except ImportError:
    sys.exit(0)
count = 200000
draw = numpy.random.default_rng(7)
at = draw.random((count, 3), dtype=numpy.float32)
speed = draw.normal(0, 0.05, (count, 3)).astype(numpy.float32)
with h5py.File(os.path.join(into, "gas.h5"), "w") as out:
    out["id"] = numpy.arange(count, dtype=numpy.int64)
    for step in range(4):
        for _ in range(10):
            at += speed * numpy.float32(0.01)
            outside = (at < 0) | (at > 1)
            speed[outside] *= -1
        group = out.create_group("step%d" % step)
        group["position"] = at
        group["momentum"] = speed
        group["cell"] = (at * 64).astype(numpy.int32)
        group["energy"] = (speed.astype(numpy.float64) ** 2).sum(axis=1)
