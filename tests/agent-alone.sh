#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# agent-alone.sh -- no agent beside the library: an installed one or a thread
# takes its place

. tests/functions.sh
without_sanitizer thread "takes the start of an agent for a fork among threads"
# The leak checker of a sanitizer does not survive the thread in here.
export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0

export SPILLWAY_INCLUDE=$PWD
seq -f %015.0f 0 99999 >f.expected
mkdir alone
cp "$preload" "$(dirname "$preload")/libspillway-engine.so" alone

# alone JOB: a program with this library; what it wrote is home soon.
alone()
{
	rm -f f
	LD_PRELOAD=$PWD/alone/libspillway.so SPILLWAY_JOB=$1 \
		"$top_builddir/tests/agent-host" f >out
	for i in $(seq 100); do
		! cmp -s f f.expected || break
		sleep 0.05
	done
	same_bytes f f.expected
}

alone thread
# One that was cut short is not loaded: the loader would die of it.
truncate -s 20000 alone/libspillway-engine.so
SPILLWAY_DRAINER=thread alone cut 2>err
[ "$(grep -c 'without Spillway' err)" = 1 ] || fail "cut short: $(cat err)"
# With neither nobody could bring anything home: the kernel serves.
rm alone/libspillway-engine.so
alone kernel
