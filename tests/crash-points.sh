#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# crash-points.sh -- death at every named point of the core, one after another

. tests/functions.sh

if [ "${SPILLWAY_CHECK_LONG:-0}" = 1 ]; then
	most=20
else
	most=2
fi
names=$(grep -rho --include='*.c' 'SPW_FAILPOINT("[a-z-]*"' \
	"$top_srcdir/shm" "$top_srcdir/planner" | cut -d'"' -f2 | sort -u)
[ -n "$names" ] || fail "no names found"
# shellcheck disable=SC2086
"$top_builddir/tests/crash-points" "$shm_dir" "$most" $names

# Those that only blocks below memory come by.
below=$(echo "$names" | grep -E '^(bring|chunk|fetch|held|release|spill|store|sync)-')
mkdir below
# shellcheck disable=SC2086
"$top_builddir/tests/crash-points" -b "$here/below" "$shm_dir" "$most" $below \
	block-below cut-raised drain-takeover
