#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# slowfs-rate.sh -- the slow mount is as slow as it was asked to be, not slower

. tests/functions.sh
slow_mount bandwidth=200000000 latency=5

# takes MICROSECONDS read|write THREADS COUNT: never less, and at most 5 % more;
# a busy machine gets several tries.  One thread is judged by its quickest
# part; several by all, since a part of theirs may make up for one before it.
takes()
{
	local asked=$1 try all part best

	shift
	for try in {1..20}; do
		read -r all part < <("$top_builddir/tests/slowfs-rate" "$@" \
			"$scratch/slow/file.")
		[ "$all" -ge "$asked" ] ||
			fail "$*: $all us, less than $asked"
		best=$all
		[ "$2" -gt 1 ] || best=$part
		[ "$best" -gt $((asked * 105 / 100)) ] || break
	done
	echo "$*: $all us, $part by the best part, asked for $asked"
	[ "$best" -le $((asked * 105 / 100)) ] || fail "$*: too slow"
}

# 60 requests, one after the other: 60 x (1048576 B / 200 MB/s + 5 ms).
takes 614572 write 1 60
takes 614572 read 1 60

# 240 requests, eight at once: only the last one's latency shows.
takes 1263291 write 8 30
takes 1263291 read 8 30
