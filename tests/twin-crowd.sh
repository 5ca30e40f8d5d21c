#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-crowd.sh -- several processes and threads on one file

. tests/functions.sh
checked_front

# twin MINIMUM BEHAVIOUR [NUMBER]: the same words and the same files, and at
# least so many bytes through the segment.
twin()
{
	local least=$1

	shift
	rm -rf a b
	mkdir a b
	(cd a && plain "$top_builddir/tests/crowd" "$@") >plain.out
	(cd b && spilled "$top_builddir/tests/crowd" "$@") >spilled.out
	diff -u plain.out spilled.out || fail "$1: it saw something else"
	counter_is bytes_undrained 0
	counter_above bytes_absorbed "$least"
}

same_files()
{
	diff -r a b || fail "files differ"
}

twin 100000 append
twin 100000 overlap
twin 7000 visible
same_files
twin 3000000 threads
same_files
twin 100000 truncation
same_files
twin 10 names
same_files
twin 10 sparse
cmp -n 1100000 a/sparse b/sparse || fail "sparse files differ"
[ "$(stat -c %s a/sparse)" = "$(stat -c %s b/sparse)" ] || fail "other size"
twin 1000000 readers
same_files

# More than the memory there is: the writer waits, nothing is lost.
spilled_flags=(--tiers ram@8M)
twin 60000000 large 64
same_files
