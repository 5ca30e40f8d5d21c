#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-run-status.sh -- run ends as the program ends, and says what it did

. tests/functions.sh
unset SPILLWAY_JOB

# The program's own status, also when a signal ended it.
fails_with 0 "$spillway" run -- true
fails_with 7 "$spillway" run -- sh -c 'exit 7'
fails_with 122 "$spillway" run -- sh -c 'exit 122'
fails_with 137 "$spillway" run -- sh -c 'kill -9 $$'
fails_with 143 "$spillway" run -- sh -c 'kill -TERM $$'

# Arguments, environment, descriptors and descriptor limit are the program's.
"$spillway" run -- printf '%s|' -- a 'b c' '' --help >out
[ "$(cat out)" = '--|a|b c||--help|' ] || fail "arguments: $(cat out)"
LD_PRELOAD=libm.so.6 "$spillway" run -- sh -c 'echo "$LD_PRELOAD"' >out
[[ $(cat out) = libm.so.6:/*/libspillway.so ]] || fail "preload: $(cat out)"
before=$(ulimit -n)
[ "$("$spillway" run -- sh -c 'ulimit -n')" = "$before" ] || fail "ulimit"
# Job and directory are handed down, the receipt is not.
"$spillway" run --receipt r --job given -- env >out
grep -qx 'SPILLWAY_JOB=given' out || fail "job is not handed down"
grep -qx "SPILLWAY_INCLUDE=$PWD" out || fail "no explicit include"
! grep -q SPILLWAY_RECEIPT out || fail "receipt is handed down"

# The receipt is one JSON object with the counters.
spilled dd if=/dev/zero of=f bs=4096 count=100 2>dd.err
counter_is writes_absorbed 100
counter_is bytes_absorbed 409600
counter_is bytes_home 409600
counter_is bytes_undrained 0
counter_is files_managed 1
counter_is exit_status 0
grep -q '"drainer": "run"' "$receipt" || fail "drainer"
grep -q '"bypass": {' "$receipt" || fail "bypass"
if type python3 >/dev/null 2>&1; then
	python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$receipt"
fi
[ "$(stat -c %a "$receipt")" = 644 ] || fail "mode of the receipt"
[ "$(stat -c %s f)" = 409600 ] || fail "not home"

# A special file stays one.
mkfifo pipe
cat pipe >from-pipe &
"$spillway" run --receipt "$PWD/pipe" -- true
wait $!
[ -p pipe ] && grep -q '"version"' from-pipe || fail "receipt into a pipe"

# Nothing is said unless asked for, and nothing is left behind.
"$spillway" run -- true 2>err
[ ! -s err ] || fail "said: $(cat err)"
"$spillway" run -v -- dd if=/dev/zero of=f count=9 status=none 2>err
grep -q '^spillway: absorbed 4.5 KiB in 9 writes' err || fail "$(cat err)"
grep -q '^spillway: all data home' err || fail "$(cat err)"
! compgen -G "$shm_dir/spillway.*/*.seg" >/dev/null || fail "segments are left"
