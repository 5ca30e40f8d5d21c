#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# program-multiprocessing.sh -- Python workers by fork, forkserver and spawn
# share files

. tests/functions.sh
. "$srcdir/program-functions.sh"
requires python3 --version

stragglers=yes			# a forkserver, on a busy machine
for method in fork forkserver spawn; do
	rm -rf plain spilled
	twins python3 "$srcdir/program-multiprocessing.py" $method
	same_trees
	counter_above bytes_absorbed 100000
done
