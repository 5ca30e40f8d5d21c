# SPDX-License-Identifier: BSD-3-Clause
# local.mk -- planner/: what moves next, and where to

planner_sources = \
	planner/advice.c \
	planner/advice.h \
	planner/advisor.c \
	planner/advisor.h \
	planner/ahead.c \
	planner/analyze-format.c \
	planner/analyze-look.c \
	planner/analyze-parts.h \
	planner/analyze-shape.c \
	planner/analyze-stride.c \
	planner/analyze.c \
	planner/analyze.h \
	planner/aside.c \
	planner/aside.h \
	planner/attr.c \
	planner/attr.h \
	planner/await.c \
	planner/away.c \
	planner/away.h \
	planner/beside.c \
	planner/beside.h \
	planner/bring.c \
	planner/buffer.c \
	planner/buffer.h \
	planner/choice.h \
	planner/choose.c \
	planner/choose.h \
	planner/chunks.c \
	planner/chunks.h \
	planner/drain.c \
	planner/drain.h \
	planner/drainer.h \
	planner/engine.c \
	planner/engine.h \
	planner/evict.c \
	planner/explore-codec.c \
	planner/explore-filter.c \
	planner/explore-final.c \
	planner/explore-parts.h \
	planner/explore-run.c \
	planner/explore-worth.c \
	planner/explore.c \
	planner/explore.h \
	planner/fetch.c \
	planner/find.c \
	planner/find.h \
	planner/held.c \
	planner/held.h \
	planner/homes.c \
	planner/hurry.c \
	planner/keep.c \
	planner/keep.h \
	planner/lasting.c \
	planner/lasting.h \
	planner/late.c \
	planner/levels.c \
	planner/load.c \
	planner/log.c \
	planner/losses.c \
	planner/losses.h \
	planner/match.c \
	planner/match.h \
	planner/monitor.c \
	planner/monitor.h \
	planner/native.c \
	planner/notes.c \
	planner/notes.h \
	planner/over.c \
	planner/over.h \
	planner/pack.c \
	planner/pack.h \
	planner/pass.c \
	planner/predict.c \
	planner/predict.h \
	planner/release.c \
	planner/replay-list.c \
	planner/replay-parts.h \
	planner/replay-tier.c \
	planner/replay.c \
	planner/replay.h \
	planner/runs.c \
	planner/seed.c \
	planner/seed.h \
	planner/slopes.c \
	planner/slopes.h \
	planner/spill.c \
	planner/stageout.c \
	planner/store.c \
	planner/store.h \
	planner/stub.c \
	planner/stub.h \
	planner/sync.c \
	planner/trial.c \
	planner/trial.h \
	planner/ways.c \
	planner/ways.h

if HAVE_CJSON
planner_sources += planner/seed-json.c
else
planner_sources += planner/seed-none.c
endif
