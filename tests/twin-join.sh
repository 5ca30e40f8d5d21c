#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-join.sh -- a reader is the first of its job, alone and with little
# memory; what writers that join it write it sees at once

. tests/functions.sh

cat >reader.py <<'READER'
import os, sys, time

def wait_for(name):
    open("../at." + name, "w").close()
    while not os.path.exists("../go." + name):
        time.sleep(0.01)

f = os.open("f", os.O_RDONLY)
print(os.read(f, 1 << 20))
wait_for("more")
more = os.read(f, 1 << 24)
print(len(more), set(more), os.fstat(f).st_size)
wait_for("less")
print(os.pread(f, 100, 0), os.read(f, 100), os.fstat(f).st_size)
READER

bare()
{
	LD_PRELOAD=$preload SPILLWAY_INCLUDE=$PWD SPILLWAY_JOB=join \
		SPILLWAY_DRAIN_DELAY=60s "$@"
}

let_go()				# STEP
{
	while [ ! -e ../at.$1 ]; do sleep 0.01; done
	"${@:2}"
	>../go.$1
}

steps()					# plain|bare
{
	$1 python3 ../reader.py &
	if [ $1 = bare ]; then
		while [ ! -e ../at.more ]; do sleep 0.01; done
		stat -c %b "$shm_dir"/*/join.seg >../blocks
	fi
	let_go more $1 dd if=/dev/zero of=f bs=4k count=500 oflag=append \
		conv=notrunc status=none
	let_go less $1 dd if=/dev/zero of=f bs=10 count=1 status=none
	wait $!
}

for how in plain bare; do
	mkdir $how
	echo hello >$how/f
	(cd $how && steps $how) >$how.out
	rm at.* go.*
done
diff -u plain.out bare.out || fail "the reader saw something else"
# Half of what it would be with all that writers need: in blocks of 512.
[ "$(<blocks)" -lt 4000 ] || fail "a lone reader made $(<blocks) blocks"

for i in $(seq 600); do
	! cmp -s plain/f bare/f || break
	sleep 0.1
done
same_bytes plain/f bare/f
