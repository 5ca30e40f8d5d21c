# SPDX-License-Identifier: BSD-3-Clause
# local.mk -- interpose/: the wrapped calls, inside the program

interpose_sources = \
	interpose/agent.c \
	interpose/agent.h \
	interpose/api.c \
	interpose/changed.c \
	interpose/changed.h \
	interpose/confine.c \
	interpose/deaf.c \
	interpose/deaf.h \
	interpose/deep.c \
	interpose/deep.h \
	interpose/exec.c \
	interpose/fdtab.c \
	interpose/fdtab.h \
	interpose/front.c \
	interpose/front.h \
	interpose/image.c \
	interpose/inner.c \
	interpose/io.c \
	interpose/jobs.c \
	interpose/jobs.h \
	interpose/kept.c \
	interpose/kept.h \
	interpose/last.c \
	interpose/leave.c \
	interpose/leave.h \
	interpose/locked.c \
	interpose/modes.c \
	interpose/modes.h \
	interpose/mounts.c \
	interpose/named.c \
	interpose/named.h \
	interpose/names.c \
	interpose/numbers.c \
	interpose/open.c \
	interpose/other.c \
	interpose/own.c \
	interpose/own.h \
	interpose/passed.c \
	interpose/process.c \
	interpose/process.h \
	interpose/proto.h \
	interpose/real.c \
	interpose/real.h \
	interpose/rings.c \
	interpose/rings.h \
	interpose/rlimit.c \
	interpose/signals.c \
	interpose/signals.h \
	interpose/size.c \
	interpose/spawn.c \
	interpose/stat.c \
	interpose/stat.h \
	interpose/stdio-buffer.c \
	interpose/stdio-bytes.c \
	interpose/stdio-mode.c \
	interpose/stdio-mode.h \
	interpose/stdio-seek.c \
	interpose/stdio-wide.c \
	interpose/stdio-wscan.c \
	interpose/stdio.c \
	interpose/stdio.h \
	interpose/symbols.h \
	interpose/times.c \
	interpose/walk.c

man_pages += \
	interpose/spillway.3
