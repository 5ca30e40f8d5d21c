# SPDX-License-Identifier: BSD-3-Clause
# local.mk -- shm/: the segment and what both sides of it share

shm_sources = \
	shm/below.c \
	shm/below.h \
	shm/blocks.c \
	shm/blocks.h \
	shm/cache.c \
	shm/cache.h \
	shm/claims.c \
	shm/claims.h \
	shm/codecs.h \
	shm/conf.c \
	shm/conf.h \
	shm/confshow.c \
	shm/crc32c.c \
	shm/crc32c.h \
	shm/diag.c \
	shm/diag.h \
	shm/expand.c \
	shm/expand.h \
	shm/failpoint.c \
	shm/failpoint.h \
	shm/files.c \
	shm/files.h \
	shm/gate.c \
	shm/gate.h \
	shm/guard.c \
	shm/guard.h \
	shm/ini.c \
	shm/ini.h \
	shm/job.c \
	shm/job.h \
	shm/lane.c \
	shm/lane.h \
	shm/layout.h \
	shm/lock.c \
	shm/lock.h \
	shm/machine.c \
	shm/machine.h \
	shm/names.c \
	shm/names.h \
	shm/options.h \
	shm/paths.c \
	shm/paths.h \
	shm/pool.c \
	shm/pool.h \
	shm/proc.c \
	shm/proc.h \
	shm/ranges.h \
	shm/secret.c \
	shm/secret.h \
	shm/seg.c \
	shm/seg.h \
	shm/setting.c \
	shm/setting.h \
	shm/size.c \
	shm/size.h \
	shm/spillway.h \
	shm/suggest.c \
	shm/suggest.h \
	shm/sys.h \
	shm/text.c \
	shm/text.h \
	shm/tiercheck.c \
	shm/tieropts.c \
	shm/tierparse.h \
	shm/tierspec.c \
	shm/tierspec.h \
	shm/tiertext.c \
	shm/util.h \
	shm/version.c \
	shm/version.h \
	shm/weights.c \
	shm/weights.h

include_HEADERS = shm/spillway.h
