#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-denied.sh -- where system calls or locked memory are forbidden

. tests/functions.sh
checked_front
TSAN_OPTIONS+=:use_madv_dontdump=0	# madvise is denied below
ASAN_OPTIONS+=:detect_leaks=0		# bash and tr keep what they have
requires python3 --version

deny=$top_builddir/tests/deny
mkdir a
(cd a && plain "$top_builddir/tests/crowd" threads) >plain.out

# twin NAME COMMAND...: the command runs a spilled crowd.
twin()
{
	local name=$1 status=0

	shift
	mkdir "$name"
	(cd "$name" && "$@" "$spillway" run --receipt "$receipt" \
		-- "$top_builddir/tests/crowd" threads) \
		>spilled.out 2>spilled.err || status=$?
	[ $status != 77 ] || cannot "no seccomp filters here"
	[ $status = 0 ] ||
		{ cat spilled.err; fail "$name: ended with $status"; }
	diff -u plain.out spilled.out || fail "$name: saw something else"
	diff -r a "$name" || fail "$name: files differ"
	counter_is bytes_undrained 0
	[ "$(wc -l <spilled.err)" -le 1 ] ||
		{ cat spilled.err; fail "$name: says too much"; }
}

twin io-uring "$deny" io_uring_setup
counter_above bytes_absorbed 3000000
twin advice "$deny" madvise=ENOSYS,membarrier=ENOSYS,close_range
counter_above bytes_absorbed 3000000
twin new-calls "$deny" statx,memfd_create,copy_file_range=ENOSYS
twin memlock bash -c 'ulimit -l 0; exec "$@"' -
counter_above bytes_absorbed 3000000

# The library of this one would come late, with the drainer.
[[ ,$sanitizers, != *,thread,* ]] || exit 0

# A drain thread among the program's own descriptors: it closes none of a file
# on which the program may have a lock.
cat >locked.py <<'PROGRAM'
import fcntl, os, sys
f = open("locked", "wb", buffering=0)
os.fchmod(f.fileno(), 0o755)	# whose home is closed when it is reached
fcntl.lockf(f, fcntl.LOCK_EX)
for i in range(3):
    f.write(b"x" * 100000)
    os.fsync(f.fileno())
    pid = os.fork()
    if pid == 0:
        try:
            fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os._exit(1)
        except OSError:
            os._exit(0)
    if os.waitpid(pid, 0)[1]:
        sys.exit("the lock is gone")
PROGRAM
for calls in none unshare=ENOSYS unshare=ENOSYS,close_range; do
	mkdir "thread-$calls"
	(cd "thread-$calls" && LD_PRELOAD=$preload SPILLWAY_INCLUDE=$PWD \
		SPILLWAY_JOB=${calls//[=,]/-} SPILLWAY_DRAINER=thread \
		"$deny" $calls python3 ../locked.py) 2>thread.err ||
		{ cat thread.err; fail "without $calls"; }
	[ ! -s thread.err ] || { cat thread.err; fail "$calls: says"; }
	[ "$(wc -c <"thread-$calls/locked")" = 300000 ] ||
		fail "without $calls: size"
done
