#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# program-python-forkserver.sh -- Python's own tests of multiprocessing by
# forkserver

. tests/functions.sh
. "$srcdir/program-functions.sh"
. "$srcdir/program-python-functions.sh"

if is_long; then
	own_tests test_multiprocessing_forkserver
else
	own_tests test_multiprocessing_forkserver WithProcessesTestQueue \
		WithProcessesTestPool.test_map WithProcessesTestConnection \
		WithProcessesTestLock TestStdinBadfiledescriptor TestCloseFds
fi
