#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-run-disabled.sh -- a program that runs without Spillway is the same, and
# there is a receipt all the same

. tests/functions.sh

run()
{
	status=0
	"$spillway" run --disable --receipt receipt.json -- "$@" \
		>out 2>err || status=$?
}

run sh -c 'echo "${LD_PRELOAD-none}"; echo x >file; exit 3'
[ $status = 3 ] || fail "status $status: $(cat err)"
[ "$(cat out)" = none ] || fail "it was preloaded: $(cat out)"
[ -s file ] || fail "no file"
grep -q '"exit_status": 3' receipt.json || fail "$(cat receipt.json)"
grep -q '"drainer": "none"' receipt.json || fail "$(cat receipt.json)"
grep -q '"writes_absorbed": 0' receipt.json || fail "$(cat receipt.json)"

run sh -c 'kill -TERM $$'
[ $status = 143 ] || fail "status $status: $(cat err)"
grep -q '"exit_status": 143' receipt.json || fail "$(cat receipt.json)"

rm receipt.json
run ./nothing
[ $status = 127 ] || fail "status $status: $(cat err)"
[ ! -e receipt.json ] || fail "a receipt of nothing"

# The program of this process, where nobody asks for more.
"$spillway" run --disable -- sh -c 'echo $$' >out &
wait $!
[ "$(cat out)" = $! ] || fail "a child: $(cat out) of $!"
