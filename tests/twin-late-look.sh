#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-late-look.sh -- half a millisecond after there was no segment there may be
# one, with bytes that a size must show

. tests/functions.sh
export SPILLWAY_INCLUDE=$PWD SPILLWAY_DRAIN_DELAY=60s SPILLWAY_DRAINER=thread
segment=$shm_dir/spillway.$(id -u)/$SPILLWAY_JOB.seg

: >file
mkfifo data
LD_PRELOAD=$preload dd if=data of=file bs=5000 status=none &
writer=$!
exec 3>data
head -c 5000 /dev/zero >&3
for i in $(seq 200); do
	[ "$(LD_PRELOAD=$preload stat -c %s file)" != 5000 ] || break
	sleep 0.05
done
[ "$(stat -c %s file)" = 0 ] || cannot "its bytes are home before they are asked for"
mv "$segment" "$segment.away"
LD_PRELOAD=$preload "$top_builddir/tests/late-look" file "$segment" >out
exec 3>&-
wait $writer
[ "$(cat out)" = "0 5000" ] || fail "shown: $(cat out)"
