#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# agent-late.sh -- an agent that takes long to be loaded is on its way: what its
# program wrote is no dead job's, unless it is killed

. tests/functions.sh

# Beside a copy of the library the command is one that takes its time.
mkdir -p "$scratch/late/.libs" managed
cp "${preload##*:}" "$scratch/late/.libs/libspillway.so"
printf '#!/bin/sh\nsleep 1\nexec "%s" "$@"\n' "$spillway" \
	>"$scratch/late/spillway"
chmod +x "$scratch/late/spillway"
export SPILLWAY_INCLUDE=$PWD/managed SPILLWAY_DRAIN_DELAY=60s
late()
{
	LD_PRELOAD=$scratch/late/.libs/libspillway.so "$@"
}
segment=$shm_dir/spillway.$(id -u)/$SPILLWAY_JOB.seg
agents()
{
	pgrep -f -- "agent --segment $segment\$"
}
is_over()
{
	for i in $(seq 100); do
		[ -e "$segment" ] || return 0
		sleep 0.1
	done
	return 1
}

seq 1000 >expected
late dd if=expected of=managed/f status=none 2>err
state=$("$spillway" status 2>&1 | awk -v job="$SPILLWAY_JOB" '$1 == job {
	print $2 }')
late cat managed/f >got 2>>err
"$spillway" recover >recovered 2>&1 || :
[ -n "$(agents)" ] || fail "there is no agent"
same_bytes got expected
[ ! -s err ] || fail "a program said: $(cat err)"
[ "$state" = live ] || fail "status says: $state"
grep -q 'dead job' recovered && fail "recover said: $(cat recovered)"
[ "$(ls "${segment%/*}"/*.seg)" = "$segment" ] ||
	fail "more than one segment: $(ls "${segment%/*}")"
"$spillway" drain --wait >/dev/null 2>&1 || fail "drain"
same_bytes managed/f expected
is_over || fail "the agent does not leave"

# One that was killed on its way does not come.
late dd if=expected of=managed/g status=none 2>err
kill -9 $(agents)
late cat managed/g >got 2>>err
same_bytes got expected
grep -q '\[W160\]' err || fail "of a dead job nothing is said: $(cat err)"
"$spillway" recover -y >/dev/null 2>&1 || fail "recover"
same_bytes managed/g expected
for i in $(seq 100); do
	[ -n "$(find "${segment%/*}" -name '*.seg')" ] || break
	sleep 0.1
done
