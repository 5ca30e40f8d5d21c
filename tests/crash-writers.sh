#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# crash-writers.sh -- no write that returned is lost, whoever is killed

. tests/functions.sh

if [ "${SPILLWAY_CHECK_LONG:-0}" = 1 ]; then
	kills=10000
	kills_below=10000
else
	kills=500
	kills_below=100
fi
mkdir below
"$top_builddir/tests/crash-writers" "$shm_dir" "$kills"
"$top_builddir/tests/crash-writers" "$shm_dir" "$kills_below" "$RANDOM" \
	"$here/below"
