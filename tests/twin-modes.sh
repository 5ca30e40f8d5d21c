#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-modes.sh -- read-only and set-id files come home with their rights

. tests/functions.sh
requires python3 --version

# A mode set behind our back, by a system call of the program's own.
cat >secretly.py <<'PROGRAM'
import ctypes, platform
with open("secret", "wb", buffering=0) as f:
    f.write(b"x" * 5000)
number = 268 if platform.machine() == "x86_64" else 53
ctypes.CDLL(None).syscall(number, -100, b"secret", 0o400, 0)
PROGRAM

cat >steps.sh <<'STEPS'
set -e
put()
{
	dd if=/dev/zero of="$1" bs=500 count="$2" 2>/dev/null
}

put readonly 10
chmod 0444 readonly
put nothing 12
chmod 0 nothing
put setid 14
chmod 6755 setid
install -m 0555 /bin/true program 2>/dev/null
cp -p program copy
python3 ../secretly.py
STEPS

mkdir a b
chmod 0777 a b
(cd a && plain bash ../steps.sh)
spilled_flags=(--drain-delay 10s)
(cd b && spilled bash ../steps.sh)
counter_above bytes_absorbed 10000
for name in readonly nothing setid program copy secret; do
	same_stat a/$name b/$name
	[ ! -r a/$name ] || same_bytes a/$name b/$name
done
