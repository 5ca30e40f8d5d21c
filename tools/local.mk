# SPDX-License-Identifier: BSD-3-Clause
# local.mk -- tools/: the command and the set-up scripts

tools_sources = \
	tools/spillway.c
