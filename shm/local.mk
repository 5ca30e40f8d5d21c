# SPDX-License-Identifier: BSD-3-Clause
# local.mk -- shm/: the segment and what both sides of it share

shm_sources = \
	shm/conf.c \
	shm/conf.h \
	shm/confshow.c \
	shm/diag.c \
	shm/diag.h \
	shm/expand.c \
	shm/expand.h \
	shm/ini.c \
	shm/ini.h \
	shm/machine.c \
	shm/machine.h \
	shm/options.h \
	shm/paths.c \
	shm/paths.h \
	shm/secret.c \
	shm/secret.h \
	shm/setting.c \
	shm/setting.h \
	shm/size.c \
	shm/size.h \
	shm/suggest.c \
	shm/suggest.h \
	shm/text.c \
	shm/text.h \
	shm/tiercheck.c \
	shm/tieropts.c \
	shm/tierparse.h \
	shm/tierspec.c \
	shm/tierspec.h \
	shm/version.c \
	shm/version.h
