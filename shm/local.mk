# SPDX-License-Identifier: BSD-3-Clause
# local.mk -- shm/: the segment and what both sides of it share

shm_sources = \
	shm/blocks.c \
	shm/blocks.h \
	shm/cache.c \
	shm/cache.h \
	shm/crc32c.c \
	shm/crc32c.h \
	shm/failpoint.c \
	shm/failpoint.h \
	shm/files.c \
	shm/files.h \
	shm/gate.c \
	shm/gate.h \
	shm/guard.c \
	shm/guard.h \
	shm/lane.c \
	shm/lane.h \
	shm/layout.h \
	shm/lock.c \
	shm/lock.h \
	shm/pool.c \
	shm/pool.h \
	shm/proc.c \
	shm/proc.h \
	shm/ranges.h \
	shm/seg.c \
	shm/seg.h \
	shm/sys.h \
	shm/text.c \
	shm/text.h \
	shm/util.h \
	shm/version.c \
	shm/version.h
