#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# agent-start.sh -- bare preload finds somebody to drain, and hides it well

. tests/functions.sh
# The leak checker of a sanitizer does not survive the thread in here.
export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0

export SPILLWAY_INCLUDE=$PWD
segment=$SPILLWAY_SHM_DIR/spillway.$(id -u)/$SPILLWAY_JOB.seg
at_end 'rm -f "$segment"'
pid_of_agent()
{
	pgrep -f -- "agent --segment $segment\$" || :
}

is_home()
{
	for i in $(seq 100); do
		cmp -s f f.expected && break
		sleep 0.05
	done
	same_bytes f f.expected
}

seq -f %015.0f 0 99999 >f.expected

# The program counts SIGCHLDs and tries to wait for a child it has not.
LD_PRELOAD=$preload "$top_builddir/tests/agent-host" f >out
grep -qx 'no child, no signal' out || fail "the agent shows: $(cat out)"

is_home
agent=$(pid_of_agent)
if [ -n "$agent" ]; then
	! tr '\0' '\n' <"/proc/$agent/environ" | grep '^LD_PRELOAD=' ||
		fail "the agent is preloaded"
	[ "$(readlink "/proc/$agent/cwd")" = / ] || fail "where it works"
	grep -q '^SigBlk:[[:space:]]*0*$' "/proc/$agent/status" ||
		fail "the agent has signals blocked"
	[ "$(ps -o ppid= -p "$agent" | tr -d ' ')" != $$ ] ||
		fail "it is our child"
	[ "$(ps -o sid= -p "$agent" | tr -d ' ')" = "$agent" ] ||
		fail "it has no session of its own"
fi
for i in $(seq 100); do
	[ -n "$(pid_of_agent)" ] || break
	sleep 0.1
done
[ -z "$(pid_of_agent)" ] || fail "the agent does not leave"

# Who waits for all that a program may have handed on, through whatever number,
# does not wait for the agent, which stays for two seconds at least.
rm -f f
exec 7> >(exec cat >/dev/null)
got=$(LD_PRELOAD=$preload "$top_builddir/tests/agent-host" f 2>&1)
exec 7>&-
agent=$(pid_of_agent)
[ "$got" = 'no child, no signal' ] || fail "in a substitution: $got"
[ -z "$agent" ] || ! ls -l "/proc/$agent/fd" | grep 'pipe:\|tty' ||
	fail "the agent holds descriptors of the program"
is_home
for i in $(seq 100); do
	[ -n "$(pid_of_agent)" ] || break
	sleep 0.1
done

# A thread instead: everything is home when the program has ended, by exit
# or by _exit.
for how in exit _exit; do
	rm -f f
	SPILLWAY_DRAINER=thread LD_PRELOAD=$preload \
		"$top_builddir/tests/agent-host" f $how >out
	same_bytes f f.expected
	[ -z "$(pid_of_agent)" ] || fail "an agent although a thread is wanted"
	rm -f "$segment"
done
