#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# crash-step.sh -- one call, killed after every instruction or after some

. tests/functions.sh
without_sanitizer thread "a step for each instruction of its library"

if [ "${SPILLWAY_CHECK_LONG:-0}" = 1 ]; then
	stride=1
else
	stride=499
fi
"$top_builddir/tests/crash-step" "$shm_dir" "$stride"
