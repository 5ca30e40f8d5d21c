#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# agent-stuck.sh -- an agent whose home is broken leaves when it is told to

. tests/functions.sh
segment=$SPILLWAY_SHM_DIR/spillway.$(id -u)/$SPILLWAY_JOB.seg
slow_mount eio-after=0
head -c 100000 /dev/urandom >"$scratch/data"
cd "$scratch/slow"

agent()
{
	pgrep -f -- "agent --segment $segment\$" || :
}

# leave_behind FILE: a run that ends with bytes that only an agent has; nothing
# goes home before, whose error cp would be told of.
leave_behind()
{
	spilled_flags=(--drain-timeout 300ms --drain-delay 10s)
	fails_with 122 spilled cp "$scratch/data" "$1" 2>/dev/null
	for ((i = 0; i < 200; i++)); do
		[ -z "$(agent)" ] || break
		sleep 0.05
	done
	[ -n "$(agent)" ] || fail "no agent"
}

# It gives up after five seconds without progress.
leaves()
{
	for ((i = 0; i < 400; i++)); do
		[ -n "$(agent)" ] || return 0
		sleep 0.05
	done
	kill -KILL $(agent)
	fail "the agent does not leave $1"
}

leave_behind told
# Who started it may still be there under the same name, and gone by now.
kill -TERM $(agent) 2>/dev/null || :
leaves "when told to"
echo eio-after=-1 >.slowfs-control
"$spillway" recover -y >/dev/null
same_bytes told "$scratch/data"

echo eio-after=0 >.slowfs-control
leave_behind deleted
rm "$segment"
leaves "when its segment is gone"
