#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-denied.sh -- where system calls or locked memory are forbidden

. tests/functions.sh

deny=$top_builddir/tests/deny
mkdir a
(cd a && plain "$top_builddir/tests/crowd" threads) >plain.out

# twin NAME COMMAND...: the command runs a spilled crowd.
twin()
{
	local name=$1 status=0

	shift
	mkdir "$name"
	(cd "$name" && "$@" "$spillway" run --receipt "$receipt" \
		-- "$top_builddir/tests/crowd" threads) \
		>spilled.out 2>spilled.err || status=$?
	[ $status != 77 ] || cannot "no seccomp filters here"
	[ $status = 0 ] ||
		{ cat spilled.err; fail "$name: ended with $status"; }
	diff -u plain.out spilled.out || fail "$name: saw something else"
	diff -r a "$name" || fail "$name: files differ"
	counter_is bytes_undrained 0
	[ "$(wc -l <spilled.err)" -le 1 ] ||
		{ cat spilled.err; fail "$name: says too much"; }
}

twin io-uring "$deny" io_uring
counter_above bytes_absorbed 3000000
twin advice "$deny" madvise,membarrier,close_range
counter_above bytes_absorbed 3000000
twin new-calls "$deny" statx,memfd_create,copy_file_range
twin memlock bash -c 'ulimit -l 0; exec "$@"' -
counter_above bytes_absorbed 3000000
