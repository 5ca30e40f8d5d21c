# SPDX-License-Identifier: BSD-3-Clause
# local.mk -- hdf5-hooks/: HDF5 calls, inside the program

hdf5_hooks_sources =
