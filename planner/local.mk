# SPDX-License-Identifier: BSD-3-Clause
# local.mk -- planner/: what moves next, and where to

planner_sources =
