#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-stdio.sh -- streams of libc answer the same on managed files

. tests/functions.sh
checked_front
# libc keeps the conversions of wide streams.
export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0

# twin MINIMUM BEHAVIOUR...: the same words and files, and at least so many
# bytes through the segment in each.
twin()
{
	local least=$1 name

	shift
	for name; do
		rm -rf a b
		mkdir a b
		(cd a && plain "$top_builddir/tests/stdio-forms" "$name") \
			>../plain.out
		(cd b && spilled "$top_builddir/tests/stdio-forms" "$name") \
			>../spilled.out
		diff -u ../plain.out ../spilled.out || fail "$name: other answers"
		diff -r a b || fail "$name: files differ"
		counter_is bytes_undrained 0
		counter_above bytes_absorbed "$least"
	done
}

twin 1 modes numbers places appending mixed children exchanged
twin 10000 buffers threads
twin 1000000 bytes
twin 5000 limits

# These leave, and say so; what was written before may not have been absorbed.
twin -1 wide conversions at_end
counter_above stdio 0
twin -1 reopened
counter_above freopen 0
