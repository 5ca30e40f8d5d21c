#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-bare.sh -- LD_PRELOAD alone: an agent or a thread drains; or disabled

. tests/functions.sh

cat >steps.sh <<'STEPS'
set -e
for i in 1 2 3 4 5; do
	head -c $((i * 30000)) /dev/zero | tr '\0' $i |
		dd of=f$i bs=1000 2>/dev/null
done
cat f1 f2 | sort >sorted
dd if=f5 of=f1 bs=100 seek=7 count=9 conv=notrunc 2>/dev/null
rm f2
mv f3 f2
wc -c f*
STEPS

bare()
{
	LD_PRELOAD=$preload SPILLWAY_INCLUDE=$scratch/home "$@"
}

mkdir a
(cd a && plain bash ../steps.sh) >plain.out

# The library of this sanitizer would come late, with the drainer.
drainers='agent thread auto'
[[ ,$sanitizers, != *,thread,* ]] || drainers='agent auto'
for drainer in $drainers; do
	mkdir b-$drainer
	(cd b-$drainer && SPILLWAY_JOB=bare-$drainer \
		SPILLWAY_DRAINER=$drainer bare bash ../steps.sh) >spilled.out
	diff -u plain.out spilled.out || fail "$drainer: saw something else"
	for i in $(seq 100); do
		! diff -rq a b-$drainer >/dev/null || break
		sleep 0.1
	done
	diff -r a b-$drainer || fail "$drainer: contents differ"
done

# A thread ends with its process, and the last one takes the segment along.
! compgen -G "$shm_dir/*/bare-thread*" >/dev/null ||
	fail "thread: left behind: $(ls "$shm_dir"/*)"

# Programs that write nothing have no drainer, and leave no segment either.
SPILLWAY_JOB=bare-reader bare cat a/sorted | cmp - a/sorted
! compgen -G "$shm_dir/*/bare-reader*" >/dev/null ||
	fail "reader: left behind: $(ls "$shm_dir"/*)"

# Who comes while the last one takes it along makes a new one.
mkdir b-crowd
crowd()
{
	for ((i = 0; i < 40; i++)); do
		SPILLWAY_JOB=bare-crowd SPILLWAY_DRAINER=thread \
			bare cp a/sorted b-crowd/$1
		cmp a/sorted b-crowd/$1
	done
}
for i in 1 2 3 4; do
	[[ $drainers != *thread* ]] || crowd $i &
done >crowd.out 2>&1
wait
[ ! -s crowd.out ] || { sort crowd.out | uniq -c; fail "crowd: said that"; }

# The agent leaves when there is nothing left to do, with the segment.
for i in $(seq 200); do
	compgen -G "$shm_dir/*/bare-agent.seg" >/dev/null || break
	sleep 0.1
done
! compgen -G "$shm_dir/*/bare-agent.seg" >/dev/null ||
	fail "the agent or its segment stays"

rm -rf "${shm_dir:?}"/*
mkdir b-off
(cd b-off && SPILLWAY_DISABLE=1 bare bash ../steps.sh) >spilled.out 2>&1
diff -u plain.out spilled.out || fail "disabled: saw something else"
diff -r a b-off || fail "disabled: contents differ"
[ -z "$(ls -A "$shm_dir")" ] || fail "disabled, but made a segment"
