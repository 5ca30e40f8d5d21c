#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# service-life.sh -- a helper process starts, answers, stops, and tells why not

. tests/functions.sh

# Ended; whether somebody collected its status is not our business.
gone() { ! grep -q '^State:[[:space:]]*[^Z[:space:]]' "/proc/$1/status" 2>/dev/null; }

service() { bash "$srcdir/service" "$@"; }

service start one 'test -e "$0"' ready -- \
	sh -c 'sleep 0.2; : >ready; exec sleep 60'
read -r pid since <one/pid
! gone "$pid" || fail "not running"
service stop one
gone "$pid" || fail "still there after stop"
[ ! -e one ] || fail "one/ was left behind"

# What ends at once is reported with its log.
fails_with 1 service start two false -- sh -c 'echo no luck; exit 3' 2>out
grep -q 'no luck' out || fail "log not shown"

# What never answers is stopped.
SERVICE_TIMEOUT=1 fails_with 1 service start three false -- \
	sh -c 'echo $$ >three.pid; exec sleep 60' 2>out
gone "$(cat three.pid)" || fail "left running"
service stop three

# What died meanwhile leaves its log.
service start four true -- sh -c 'sleep 0.1; echo fell over; exit 1'
sleep 0.5
fails_with 1 service stop four 2>out
grep -q 'fell over' out || fail "log of the dead not shown"
