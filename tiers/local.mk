# SPDX-License-Identifier: BSD-3-Clause
# local.mk -- tiers/: places that hold bytes, and the codecs for them

# Linked into the engine and the command.
tiers_sources =

# Libraries of the engine itself; what only a module needs stays with it.
back_libs =
