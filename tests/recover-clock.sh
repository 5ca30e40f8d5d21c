#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recover-clock.sh -- clocks that were set, and files from the past or the
# future, keep nothing from coming home and nobody's change from being seen

. tests/functions.sh
requires_disk
unset SPILLWAY_JOB

mkdir "$scratch/disk"
tiers="ram@16M nvme:$(place "$scratch/disk")@64M"
head -c 300000 /dev/urandom >"$scratch/old"
head -c 300000 /dev/urandom >"$scratch/new"

recover()
{
	"$spillway" recover -y --tiers "$tiers" "$@"
}

# Files that had such a time before the job, or were given it by the job.
for time in '1 year' '1 hour' '-10 years' @0; do
	cp "$scratch/old" before
	cp "$scratch/old" within
	touch -d "$time" before
	rebooted times "$tiers" 'synced before "$1"
		touch -d "$2" within; synced within "$1"' \
		"$scratch/new" "$time"
	cmp -s before "$scratch/old" || fail "$time: home already"
	recover >out 2>&1 || fail "$time: $(cat out)"
	same_bytes before "$scratch/new"
	same_bytes within "$scratch/new"
	for file in before within; do
		age=$(($(date +%s) - $(stat -c %Y $file)))
		[ $age -ge 0 ] && [ $age -lt 100 ] ||
			fail "$time: $file got a time $age s ago"
	done
done

# clock_back: the clock of the job was an hour ahead of ours.
clock_back()
{
	find "$scratch/disk" -name '*.lock' -exec touch -d '1 hour' {} +
	touch -d '59 minutes' "$@"
}

cp "$scratch/old" one
cp "$scratch/old" two
rebooted ahead "$tiers" 'synced one "$1"; synced two "$1"' "$scratch/new"
clock_back one two
recover >out 2>&1 || fail "$(cat out)"
same_bytes one "$scratch/new"
same_bytes two "$scratch/new"

# The same when the first to recover is killed over it.
cp "$scratch/old" one
cp "$scratch/old" two
rebooted again "$tiers" 'synced one "$1"; synced two "$1"' "$scratch/new"
clock_back one two
{ SPILLWAY_FAILPOINT=replay-applied:1 recover >out 2>&1 || :; } 2>/dev/null
recover >out 2>&1 || fail "$(cat out)"
same_bytes one "$scratch/new"
same_bytes two "$scratch/new"

# What somebody changed after all that is seen still.
cp "$scratch/old" one
touch -d '1 year' one
rebooted changed "$tiers" 'synced one "$1"' "$scratch/new"
echo mine >one
touch -d '2 years' one
fails_with 5 recover >out 2>err
[ "$(cat one)" = mine ] || fail "written over"
grep -q "$PWD/one: was changed by somebody" err || fail "$(cat err)"
recover --force >out
same_bytes one "$scratch/new"
