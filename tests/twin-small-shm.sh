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

# Nor does each program of a script say it again, or complain of a setting.
printf '%s\n' 'for i in 1 2 3; do date >d; cat d; sh -c "cat d" | wc; done' \
	'exec ls' >many
told_once()
{
	env LD_PRELOAD="$preload" SPILLWAY_INCLUDE="$scratch/home" "$@" \
		bash many >/dev/null 2>spilled.err || fail "$* failed"
	[ "$(grep -c 'without Spillway' spilled.err)" = 1 ] &&
		[ "$(wc -l <spilled.err)" = 1 ] ||
		fail "$*: not said once: $(cat spilled.err)"
}
told_once SPILLWAY_SHM_DIR="$scratch/nowhere"
told_once SPILLWAY_TIERS=ram@lots
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
for i in {1..1200}; do
	compgen -G "$small/spillway.*/*.seg" >/dev/null || break
	sleep 0.05
done
for i in {1..10}; do			# the agent itself goes a moment later
	head -c 4M /dev/zero >>"$small/others" 2>/dev/null || :
	sleep 0.1
done
SPILLWAY_JOB=no-room bare full "$small"
fails_with 125 "$spillway" run -- true

# Others fill it when a segment is there already: what it has not reserved is
# not touched, by the program, the agent or the commands.
rm "$small/others"
mount -o remount,size=256m "$small"
cat >filling <<'SCRIPT'
exec 3>c
head -c 300M /dev/zero >"$1" 2>/dev/null
echo one >&3
(echo two) >&3
sync
/bin/echo three >&3
seq 10000 >b
[ $(stat -c %s c b | paste -sd,) = 14,48894 ]
SCRIPT
for drainer in agent thread; do
	rm -f c b
	SPILLWAY_JOB=filling SPILLWAY_TIERS=ram@200M LD_PRELOAD=$preload \
		SPILLWAY_INCLUDE=$scratch/home SPILLWAY_DRAINER=$drainer \
		bash filling "$small/others" || fail "filling, $drainer: $?"
	for command in 'status --why' 'drain --wait'; do	# 3: it is gone
		"$spillway" $command filling >/dev/null 2>&1 || [ $? = 3 ]
	done
	printf '%s\n' one two three | cmp - c
	seq 10000 | cmp - b
	rm "$small/others"
done

# None at all keeps nobody from working who did not say where it is.
without()
{
	unshare -m bash -c "$1"' && exec "$@"' - env -u SPILLWAY_SHM_DIR "${@:2}"
}
no_shm='mount -t tmpfs -o ro none /dev/shm'
full='mount -t tmpfs -o size=64k none /dev/shm'
for lack in "$no_shm" "$full" 'umount -l /proc'; do
	rm -f d
	without "$lack" "$spillway" run -- bash -c 'seq 100 >d; exit 7' \
		2>spilled.err && fail "lost the status" || [ $? = 7 ]
	seq 100 | cmp - d
	[ "$(grep -c 'without Spillway' spilled.err)" = 1 ] ||
		fail "not said once: $(cat spilled.err)"
done
fails_with 125 without "$no_shm" "$spillway" run --shm-dir /dev/shm -- true
fails_with 125 without "$full" "$spillway" run --tiers ram@1M -- true
