#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-ctime-kept.sh -- who has seen a file's ctime does not see that of its
# coming home, also when nobody has it open any more

. tests/functions.sh
requires python3 --version

cat >look.py <<'PROGRAM'
import os, time

def write(name):
    with open(name, "w") as f:
        f.write("x" * 100)

def look():
    return {name: (os.stat(name).st_mtime_ns, os.stat(name).st_ctime_ns)
            for name in names}

names = [str(i) for i in range(40)]
for name in names:
    if os.fork() == 0:
        write(name)
        os._exit(0)
    os.wait()
os.utime(names[1], (1000000000, 1000000000))
first = look()
end = time.monotonic() + 3.5		# a drainer lets go after two seconds
while time.monotonic() < end:
    assert look() == first
    time.sleep(0.002)
os.chmod(names[0], 0o600)
assert os.stat(names[0]).st_ctime_ns > first[names[0]][1]
PROGRAM
for delay in 1ms 1s; do
	rm -rf b
	mkdir b
	spilled_flags=(--drain-delay $delay)
	(cd b && spilled python3 ../look.py) ||
		fail "with a delay of $delay"
	counter_above writes_absorbed 39
done
