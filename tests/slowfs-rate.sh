#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# slowfs-rate.sh -- the slow mount is as slow as it was asked to be, not slower

. tests/functions.sh
slow_mount bandwidth=200000000 latency=5

# takes MICROSECONDS ARG...: never less, and at its best at most 5 % more; a
# busy machine gets several tries.
takes()
{
	local asked=$1 try all best

	shift
	for try in {1..8}; do
		read -r all best < <("$top_builddir/tests/slowfs-rate" "$@" \
			"$scratch/slow/file.")
		[ "$all" -ge "$asked" ] ||
			fail "$*: $all us, less than $asked"
		[ "$best" -gt $((asked * 105 / 100)) ] || break
	done
	echo "$*: $all us in all, $best at its best, asked for $asked"
	[ "$best" -le $((asked * 105 / 100)) ] || fail "$*: too slow"
}

# 60 requests, one after the other: 60 x (1048576 B / 200 MB/s + 5 ms).
takes 614572 write 1 60
takes 614572 read 1 60

# 240 requests, eight at once: only the last one's latency shows.
takes 1263291 write 8 30
takes 1263291 read 8 30
