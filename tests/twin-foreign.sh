#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-foreign.sh -- a program with the loader of another libc is started without
# us, finds what was written before, and keeps what else is preloaded

. tests/functions.sh
requires python3 --version

# As one of musl would be: linked for a loader that has another name.
cat >link.py <<'PROGRAM'
import os, re, shutil, sys

for name in "cat", "printenv":
    with open(shutil.which(name), "rb") as f:
        image = f.read()
    loader = re.search(rb"/lib[\w/.-]*/ld-linux[\w.-]*", image)
    if not loader:
        sys.exit("no loader in " + name)
    loader = loader.group()
    shutil.copy(loader, "loader")
    image = image.replace(loader, b"./loader".ljust(len(loader), b"\0"), 1)
    with open("other-" + name, "wb") as f:
        f.write(image)
    os.chmod("other-" + name, 0o755)
PROGRAM
python3 link.py || skip "cannot make a program with another loader"
./other-cat link.py | cmp - link.py || skip "the copy does not run"

for twin in plain spilled; do
	mkdir $twin
	cp loader other-* $twin
	spilled_flags=(--drain-delay 60s)
	(cd $twin && $twin bash -c '
		exec 3>written
		dd if=other-cat bs=1000 count=5 status=none >&3
		dd if=loader of=closed bs=1000 count=5 status=none
		./other-cat written closed
		./other-printenv LD_PRELOAD
		echo $?
		cat closed') >$twin.out
	other=$built/.libs/program-interposer.so
	(cd $twin && LD_PRELOAD=$other $twin \
		bash -c './other-printenv LD_PRELOAD; :') >>$twin.out
done
counter_is bytes_undrained 0
same_bytes plain.out spilled.out
diff -r plain spilled || fail "files differ"
