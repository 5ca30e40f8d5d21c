# SPDX-License-Identifier: BSD-3-Clause
# local.mk -- interpose/: the wrapped calls, inside the program

interpose_sources = \
	interpose/fdtab.h \
	interpose/front.h \
	interpose/inner.c \
	interpose/leave.h \
	interpose/modes.c \
	interpose/named.c \
	interpose/named.h \
	interpose/names.c \
	interpose/proto.h \
	interpose/real.c \
	interpose/real.h \
	interpose/stat.c \
	interpose/stat.h \
	interpose/symbols.h \
	interpose/times.c \
	interpose/walk.c
