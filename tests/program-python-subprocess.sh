#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# program-python-subprocess.sh -- Python's own tests of processes

. tests/functions.sh
. "$srcdir/program-functions.sh"
. "$srcdir/program-python-functions.sh"

if is_long; then
	own_tests test_subprocess
else
	own_tests test_subprocess RunFuncTestCase test_stdin test_stdout \
		test_stderr test_communicate test_close_fds test_pass_fds \
		test_cwd test_env test_invalid_args test_preexec
fi
counter_above files_managed 0
