# SPDX-License-Identifier: BSD-3-Clause
# local.mk -- planner/: what moves next, and where to

planner_sources = \
	planner/drain.c \
	planner/drain.h \
	planner/drainer.h \
	planner/engine.c \
	planner/engine.h \
	planner/evict.c \
	planner/homes.c \
	planner/pass.c
