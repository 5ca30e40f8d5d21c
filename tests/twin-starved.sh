#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-starved.sh -- descriptors, processes, memory or places are lacking
#
# Nobody asked for more than there is: the program runs, plainly if need be,
# with one line at most, and what it wrote is home.

. tests/functions.sh
without_sanitizer address "needs more address space than there is"
without_sanitizer thread "needs more address space than there is"

program=$top_builddir/tests/few-calls
chmod 1777 "$shm_dir"

# twin NAME WRAPPER: bash code that runs "$@".
twin()
{
	local kind status

	for kind in plain run auto thread; do
		rm -rf b
		mkdir -m 0777 b
		status=0
		case $kind in
		plain) set -- "$1" "$2" "$program" ;;
		run) set -- "$1" "$2" "$spillway" run -- "$program" ;;
		*) set -- "$1" "$2" env LD_PRELOAD="$preload" \
			SPILLWAY_DRAINER=$kind SPILLWAY_INCLUDE="$PWD/b" \
			SPILLWAY_JOB=$1 "$program" ;;
		esac
		(cd b && bash -c "$2" - "${@:3}") >$kind.out 2>$kind.err ||
			status=$?
		echo "status $status" >>$kind.out
		if [ $kind = plain ]; then
			rm -rf a
			mv b a
			continue
		fi
		cmp plain.out $kind.out || fail "$1, $kind: $(cat $kind.err)"
		[ "$(wc -l <$kind.err)" -le 1 ] ||
			fail "$1, $kind: $(cat $kind.err)"
		for i in {1..200}; do	# an agent may be at it
			! diff -rq a b >/dev/null || break
			sleep 0.05
		done
		diff -r a b || fail "$1, $kind: files differ"
	done
}

said()
{
	grep -q "$2" $1.err || fail "$1 says: $(cat $1.err)"
}

for n in 5 6 7 8 10 12; do
	twin files-$n "ulimit -n $n; exec \"\$@\""
done
for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
	twin closed "exec \"\$@\" $closed"
done
twin sizes 'ulimit -f 1000; exec "$@"'
said auto 'File too large'
for n in 20000 60000; do
	twin memory-$n "ulimit -v $n; exec \"\$@\""
done
twin home 'unset HOME; TMPDIR=/nonexistent exec "$@"'
fails_with 125 bash -c 'ulimit -f 1000; exec "$@"' - "$spillway" run \
	--tiers ram@128M -- true 2>/dev/null

# Neither an agent nor a thread: files are the kernel's after their first
# write, which the program itself brings home.
nobody='setpriv --reuid 65534 --clear-groups'
if [ "$(id -u)" = 0 ] && $nobody test -x "$program" 2>/dev/null; then
	twin processes "exec $nobody"' bash -c "ulimit -u 1; exec \"\$@\"" - "$@"'
	said auto 'no drainer can be started'
	said thread 'no drainer can be started'
	said run 'cannot drain it.*without Spillway'
fi

# Nothing that is empty stays behind.
for i in {1..100}; do
	compgen -G "$shm_dir/spillway.*/*.seg" >/dev/null || break
	sleep 0.1
done
! compgen -G "$shm_dir/spillway.*/*.seg" || fail "a segment is left"

# Places in memory that are not ours to use, where nobody named one.
unset SPILLWAY_SHM_DIR
mounted()
{
	echo "exec unshare -m bash -c '$1 && exec \"\$@\"' - \"\$@\""
}
unshare -m mount -t tmpfs none /dev/shm 2>/dev/null ||
	cannot "no right to mount a file system"
tmpfs='mount -t tmpfs none /dev/shm'
ours=/dev/shm/spillway.$(id -u)
twin place-file "$(mounted "$tmpfs && touch $ours")"
said run 'not a directory of yours.*without Spillway'
twin place-link "$(mounted "$tmpfs && mkdir -m 700 /dev/shm/x &&
	ln -s x $ours")"
said run 'not a directory of yours.*without Spillway'
twin place-open "$(mounted "$tmpfs && mkdir -m 755 $ours")"
twin place-others "$(mounted "$tmpfs && mkdir -m 700 $ours &&
	chown 65534 $ours")"
twin place-inodes "$(mounted 'mount -t tmpfs -o nr_inodes=3 none /dev/shm')"
said run 'W166'
twin place-older "$(mounted "$tmpfs && mkdir -m 700 $ours && umask 077 &&
	printf 'Spwclim1\\001\\0\\0\\0' >$ours/claims &&
	truncate -s 16M $ours/claims && umask 022")"
said run 'claims is of another version.*without Spillway.*W166'
twin place-noexec "$(mounted 'mount -t tmpfs -o noexec none /dev/shm')"
[ ! -s run.err ] || fail "noexec: $(cat run.err)"
