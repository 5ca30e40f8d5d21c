#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-mounts.sh -- what was written on a mount does not keep it busy

. tests/functions.sh
unshare -rm true 2>/dev/null || cannot "no mounts in a user namespace"

cat >mounts.sh <<'SCRIPT'
mkdir top below
mount -t tmpfs x top && echo one >top/f && cat top/f
umount top; echo "umount $?"
mount -t tmpfs x top && cp mounts.txt top/ && cat top/mounts.txt >top/copy
cp mounts.txt top/gone && rm top/gone
mount -o remount,ro top; echo "remount $?"
mount -o remount,rw top && echo two >>top/copy && cmp mounts.txt top/copy
umount top; echo "umount $?"
echo under >below/f
mount -t tmpfs x below && echo over >below/f && cat below/f
exec 5>>below/f
umount below 2>/dev/null; echo "busy $?"
umount -l below; echo "lazily $?"
echo five >&5 && exec 5>&-
cat below/f
SCRIPT
for delay in 60s 0; do
	rm -rf a b
	mkdir a b
	seq 10000 | tee a/mounts.txt >b/mounts.txt
	(cd a && plain unshare -rm sh ../mounts.sh) >a.out 2>&1
	(cd b && unshare -rm "$spillway" run --drain-delay $delay \
		--receipt "$receipt" -- sh ../mounts.sh) >b.out 2>&1
	sed -i "s|$PWD/b/|$PWD/a/|" b.out	# where mount(8) names it
	diff -u a.out b.out || fail "with a delay of $delay"
	diff -r a b || fail "files differ with a delay of $delay"
	counter_above writes_absorbed 3
	counter_is bytes_undrained 0
done

# Among mounts of its own: what is closed is home, since no name leads to it
# for a drainer that comes late.
mkdir src dst
spilled_flags=(--drain-delay 60s)
spilled unshare -rm sh -c 'mount --bind src dst
	run=$PPID
	kill -STOP $run
	(sleep 0.5; kill -CONT $run) &
	dd if=a/mounts.txt of=dst/copy bs=1000 2>/dev/null
	wait; umount dst' || fail "in a namespace of its own: status $?"
cmp a/mounts.txt src/copy || fail "in a namespace of its own: contents"
# Who becomes root of a namespace is another user, and the kernel's.
[ "$(id -u)" != 0 ] || counter_above writes_absorbed 3
