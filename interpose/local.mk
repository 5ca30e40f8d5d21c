# SPDX-License-Identifier: BSD-3-Clause
# local.mk -- interpose/: the wrapped calls, inside the program

interpose_sources = \
	interpose/fdtab.h \
	interpose/front.h \
	interpose/leave.h \
	interpose/proto.h \
	interpose/real.c \
	interpose/real.h
