#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# program-python-spawn.sh -- Python's own tests of multiprocessing by spawn

. tests/functions.sh
. "$srcdir/program-functions.sh"
. "$srcdir/program-python-functions.sh"

if is_long; then
	own_tests test_multiprocessing_spawn
else
	own_tests test_multiprocessing_spawn WithProcessesTestConnection \
		WithProcessesTestQueue.test_put WithProcessesTestLock \
		TestCloseFds
fi
