#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# crash-preload.sh -- the same for ordinary programs: killed, drained, recovered

. tests/functions.sh

if [ "${SPILLWAY_CHECK_LONG:-0}" = 1 ]; then
	kills=2000
else
	kills=40
fi
export SPILLWAY_INCLUDE=$PWD SPILLWAY_TIERS='ram@16M' SPILLWAY_DRAIN_DELAY=5ms
at_end '"$spillway" recover -y >/dev/null 2>&1'
"$top_builddir/tests/crash-preload" "$spillway" "$preload" "$kills"
