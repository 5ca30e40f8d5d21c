#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# program-python.sh -- Python's own tests of files pass and fail as without us

. tests/functions.sh
. "$srcdir/program-functions.sh"
. "$srcdir/program-python-functions.sh"

own_tests test_fileio
counter_above bytes_absorbed 100
own_tests test_mmap
bypassed mmap
own_tests test_shutil
counter_above bytes_absorbed 1000
own_tests test_os
counter_above bytes_absorbed 1000
if is_long; then
	own_tests test_io
else
	own_tests test_io CBufferedReader CBufferedWriter CBufferedRandom \
		CTextIOWrapper CIOTest PyIOTest CMiscIO
fi
counter_above bytes_absorbed 10000
own_tests test_tempfile
own_tests test_file
counter_above bytes_absorbed 10000
