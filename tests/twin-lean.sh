#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-lean.sh -- a segment that a reader made, and that can have no memory for
# the first block when somebody writes: the kernel has the file then

. tests/functions.sh
requires python3 --version
export SPILLWAY_INCLUDE=$PWD

cat >"$scratch/late.py" <<'END'
import os, resource, sys

fd = os.open("old", os.O_RDONLY)
os.read(fd, 3)
to = os.open("new", os.O_RDWR | os.O_CREAT, 0o600)
if sys.argv[1] == "limit":
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
else:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    try:
        while True:
            os.dup(2)
    except OSError:
        pass
os.write(1, b"%d\n" % os.write(to, b"hello"))
os.write(1, os.pread(to, 10, 0) + b"\n")
END
bare()
{
	SPILLWAY_JOB=$form LD_PRELOAD=$preload timeout 30 "$@"
}
for form in limit descriptors; do
	for twin in plain bare; do
		mkdir $form-$twin
		echo abc >$form-$twin/old
		(cd $form-$twin && $twin python3 "$scratch/late.py" $form) \
			>$form-$twin.out || fail "$form, $twin: ended with $?"
	done
	diff -u $form-plain.out $form-bare.out || fail "$form"
	# Memory was to be had all the same; else the kernel has it already.
	[ $form = descriptors ] ||
		"$spillway" drain -q --wait $form 2>/dev/null || :
	diff -r $form-plain $form-bare || fail "$form: files differ"
done
