#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-cut-dead.sh -- who cuts files that a dead process left in a segment, as
# his first call, does not find the old bytes in them later

. tests/functions.sh
writer=$top_builddir/tests/dead-writer
export SPILLWAY_DRAINER=thread SPILLWAY_DRAIN_DELAY=10s SPILLWAY_QUIET=1

with_us()
{
	SPILLWAY_INCLUDE=$PWD LD_PRELOAD=$preload "$@"
}

for what in cut open; do
	for how in plain with_us; do
		mkdir $what-$how
		cd $what-$how
		! $how "$writer" write a b c 2>/dev/null ||
			fail "the writer was not killed"
		$how "$writer" $what a b c 2>/dev/null
		cd ..
	done
	"$spillway" recover -y >recover.out 2>&1 || :
	diff -rq $what-plain $what-with_us || fail "$what: files differ"
done
