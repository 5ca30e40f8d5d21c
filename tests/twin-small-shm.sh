#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-small-shm.sh -- a shared memory of 64 MiB, a full, absent or closed one

. tests/functions.sh

crowd=$top_builddir/tests/crowd
mkdir a
(cd a && plain "$crowd" large 100) >plain.out

twin()
{
	local name=$1

	mkdir "$name"
	(cd "$name" && "$spillway" run --receipt "$receipt" \
		"${spilled_flags[@]}" -- "$crowd" large 100) \
		>spilled.out 2>spilled.err || fail "$name: $(cat spilled.err)"
	diff -u plain.out spilled.out || fail "$name: saw something else"
	diff -r a "$name" || fail "$name: files differ"
	rm -r "$name"
}

# What a bare preload does where no segment can be: one line, and no harm.
bare()
{
	local name=$1

	mkdir "$name"
	(cd "$name" && LD_PRELOAD=$preload SPILLWAY_SHM_DIR=$2 \
		SPILLWAY_INCLUDE=$scratch/home "$crowd" large 100) \
		>spilled.out 2>spilled.err || fail "$name: $(cat spilled.err)"
	diff -u plain.out spilled.out || fail "$name: saw something else"
	# Where there is a segment, an agent is still at work.
	SPILLWAY_SHM_DIR=$2 "$spillway" drain --wait >/dev/null 2>&1 || :
	diff -r a "$name" || fail "$name: files differ"
	[ "$(wc -l <spilled.err)" = 1 ] ||
		{ cat spilled.err; fail "$name: not one line"; }
	grep -q '^spillway: ' spilled.err || fail "$name: no warning"
	rm -r "$name"
}

bare absent "$scratch/nowhere"
touch file
bare not-a-directory "$scratch/home/file"
if [ "$(id -u)" != 0 ]; then
	mkdir shut
	chmod 0555 shut
	bare closed "$scratch/home/shut"
	cannot "a file system of 64 MiB takes root"
fi

small=${here%/home}/small		# its name must have no blank
mkdir "$small"
at_end 'umount -l "$small" 2>/dev/null'
mount -t tmpfs -o size=64m none "$small" ||
	cannot "no right to mount a file system"
export SPILLWAY_SHM_DIR=$small
twin small
counter_above bytes_absorbed 60000000
counter_is bytes_undrained 0
! "$spillway" run --tiers ram@1G -- true 2>spilled.err ||
	fail "1 GiB in 64 MiB"
grep -q 'hint: write ram@' spilled.err || fail "no hint"
SPILLWAY_TIERS=ram@1G bare asks-for-more "$small"

# Others filled it: what is left will do, unless a size was asked for.
head -c 61M /dev/zero >"$small/others"
twin nearly-full
counter_above bytes_absorbed 60000000
counter_is bytes_undrained 0
grep -q 'takes only 1.* MiB, .* has [23].* MiB free' spilled.err ||
	fail "not said: $(cat spilled.err)"
! "$spillway" run --tiers ram@32M -- true 2>spilled.err ||
	fail "32 MiB in 3 MiB"
bare nearly-full "$small"
grep -q 'takes only .*\[W152\]' spilled.err || fail "$(cat spilled.err)"
# Its agent leaves when it was idle for long, and its memory is free again.
for i in {1..200}; do
	compgen -G "$small/spillway.*/*.seg" >/dev/null || break
	sleep 0.05
done
head -c 4M /dev/zero >>"$small/others" 2>/dev/null || :
SPILLWAY_JOB=no-room bare full "$small"
fails_with 125 "$spillway" run -- true
