# SPDX-License-Identifier: BSD-3-Clause
# local.mk -- planner/: what moves next, and where to

planner_sources = \
	planner/bring.c \
	planner/chunks.c \
	planner/chunks.h \
	planner/drain.c \
	planner/drain.h \
	planner/drainer.h \
	planner/engine.c \
	planner/engine.h \
	planner/evict.c \
	planner/fetch.c \
	planner/held.c \
	planner/held.h \
	planner/homes.c \
	planner/pass.c \
	planner/runs.c \
	planner/spill.c \
	planner/store.c \
	planner/store.h \
	planner/sync.c \
	planner/workers.c \
	planner/workers.h
