# SPDX-License-Identifier: BSD-3-Clause
# local.mk -- planner/: what moves next, and where to

planner_sources = \
	planner/choice.h \
	planner/choose.c \
	planner/choose.h \
	planner/drain.c \
	planner/drain.h \
	planner/drainer.h \
	planner/engine.c \
	planner/engine.h \
	planner/evict.c \
	planner/homes.c \
	planner/match.c \
	planner/match.h \
	planner/monitor.c \
	planner/monitor.h \
	planner/pass.c \
	planner/predict.c \
	planner/predict.h \
	planner/weights.c \
	planner/weights.h
