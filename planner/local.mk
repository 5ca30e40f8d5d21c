# SPDX-License-Identifier: BSD-3-Clause
# local.mk -- planner/: what moves next, and where to

planner_sources = \
	planner/analyze-format.c \
	planner/analyze-parts.h \
	planner/analyze-shape.c \
	planner/analyze-stride.c \
	planner/analyze.c \
	planner/analyze.h \
	planner/drain.c \
	planner/drain.h \
	planner/drainer.h \
	planner/engine.c \
	planner/engine.h \
	planner/evict.c \
	planner/homes.c \
	planner/pass.c
