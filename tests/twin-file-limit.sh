#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-file-limit.sh -- a limit of file sizes is the program's, not Spillway's
#
# Segments are larger than such a limit.  Making one must not bring the signal
# on a program that keeps within it.

. tests/functions.sh

# writes KIB: so much in pieces, under a limit of 100 KiB; with its status.
cat >writes <<'SCRIPT'
status=0
dd if=/dev/zero of=file bs=1k count="$1" status=none || status=$?
echo "limit $(ulimit -f), status $status"
SCRIPT

bare()
{
	SPILLWAY_INCLUDE=$PWD LD_PRELOAD=$preload "$@" || return
	"$spillway" drain --wait --timeout 20s >"$scratch/drain" 2>&1 || :
}

for kib in 10 200; do
	for kind in -S -H; do
		for twin in plain spilled bare; do
			mkdir $twin
			status=0
			(cd $twin && ulimit -S -f 100 && ulimit $kind -f 100 &&
			 $twin bash ../writes $kib) >$twin.out 2>$twin.err ||
				status=$?
			# Whoever may not raise it is told so.
			if [ $twin$status = spilled125 ] && [ $kind = -H ] &&
			   grep -q 'E151' $twin.err; then
				rm -r $twin
				continue
			fi
			[ $status = 0 ] || fail "$twin: $(cat $twin.err)"
			diff plain.out $twin.out || fail "$twin, $kib, $kind"
			diff -r plain $twin || fail "$twin, $kib, $kind: file"
			[ $twin = plain ] || rm -r $twin
		done
		rm -r plain
	done
done

# A drainer within the program is bound by a limit that comes later.
mkdir a b
(cd a && plain "$top_builddir/tests/odd-io" limits) >plain.out
(cd b && SPILLWAY_DRAINER=thread bare "$top_builddir/tests/odd-io" limits) \
	>bare.out
diff -u plain.out bare.out || fail "a drainer within: output differs"
diff -r a b || fail "a drainer within: files differ"

# One that another process sets holds for what is open, and for the next file.
requires python3 --version
cat >from-outside.py <<'PROGRAM'
import os, resource, signal

def put(fd):
    try:
        return os.write(fd, b"x" * 4000)
    except OSError as e:
        return e.strerror

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
fd = os.open("open", os.O_WRONLY | os.O_CREAT, 0o644)
print(put(fd))
child = os.fork()
if child == 0:
    resource.prlimit(os.getppid(), resource.RLIMIT_FSIZE, (5000, 5000))
    os._exit(0)
os.waitpid(child, 0)
print(put(fd), put(fd))
fd = os.open("next", os.O_WRONLY | os.O_CREAT, 0o644)
print(put(fd), put(fd), put(fd))
PROGRAM
for twin in plain spilled; do
	mkdir $twin
	(cd $twin && $twin python3 ../from-outside.py) >$twin.out
done
diff -u plain.out spilled.out || fail "a limit from outside: output differs"
diff -r plain spilled || fail "a limit from outside: files differ"

# A file that was opened under a limit below the segment's size, and again when
# it was gone, is the same for both.
cat >opened-below.py <<'PROGRAM'
import os, resource
limit = resource.RLIMIT_FSIZE
for i in range(20):
    name = "below%d" % i
    resource.setrlimit(limit, (40000, resource.RLIM_INFINITY))
    low = os.open(name, os.O_WRONLY | os.O_CREAT)
    resource.setrlimit(limit, (resource.RLIM_INFINITY,) * 2)
    high = os.open(name, os.O_RDONLY)
    os.pwrite(low, b"x" * 8305, 12880)
    print(name, len(os.pread(high, 100000, 0)))
# One that is larger than the limit may be cut to what is still above it.
with open("cut", "wb", buffering=0) as f:
    f.write(b"x" * 100000)
    resource.setrlimit(limit, (40000, resource.RLIM_INFINITY))
    f.truncate(60000)
    print(os.stat("cut").st_size)
    os.truncate("cut", 50000)
    print(os.stat("cut").st_size)
PROGRAM
rm -rf a b
mkdir a b
(cd a && plain python3 ../opened-below.py) >plain.out
(cd b && spilled python3 ../opened-below.py) >spilled.out
counter_above writes_absorbed 15
diff -u plain.out spilled.out || fail "opened below the limit: output differs"
diff -r a b || fail "opened below the limit: files differ"
