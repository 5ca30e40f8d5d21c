# SPDX-License-Identifier: BSD-3-Clause
# local.mk -- shm/: the segment and what both sides of it share

shm_sources = \
	shm/version.c \
	shm/version.h
