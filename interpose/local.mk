# SPDX-License-Identifier: BSD-3-Clause
# local.mk -- interpose/: the wrapped calls, inside the program

interpose_sources =
