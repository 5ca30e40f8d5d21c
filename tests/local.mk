# SPDX-License-Identifier: BSD-3-Clause
# local.mk -- tests/: one behaviour each

