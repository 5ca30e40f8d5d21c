#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-past-cache.sh -- files reached past read and write are right, and the
# receipt says why the kernel served them

. tests/functions.sh
checked_front

# twin BEHAVIOUR [REASON]
twin()
{
	local delay status

	for delay in 10s 1ms; do
		rm -rf a b
		mkdir a b
		status=0
		(cd a && plain "$top_builddir/tests/past-cache" "$1") \
			>plain.out || status=$?
		[ $status != 77 ] || { echo "not here: $1"; return 0; }
		[ $status = 0 ] || fail "$1 does not work by itself"
		spilled_flags=(--drain-delay $delay)
		(cd b && spilled "$top_builddir/tests/past-cache" "$1") \
			>spilled.out
		diff -u plain.out spilled.out ||
			fail "$1 with a delay of $delay"
		diff -r a b || fail "$1: contents differ"
		counter_is bytes_undrained 0
		if [ $# = 1 ]; then
			grep -q '"bypass": {}' "$receipt" ||
				fail "$1: bypassed for nothing"
			counter_above writes_absorbed 1
		else
			counter_above "$2" 0
		fi
	done
}

twin map-shared mmap
twin map-private mmap
twin direct direct
twin nameless tmpfile
twin unnamed
twin path-only
twin synchronous sync
twin sending sendfile
twin splicing sendfile
twin copying sendfile
twin sharing
twin device mmap
twin posix-aio aio
twin kernel-aio aio
twin io-uring io_uring
twin by-number
