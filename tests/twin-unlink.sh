#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-unlink.sh -- what nobody can open any more is not written anywhere

. tests/functions.sh
requires_disk
requires python3 --version

cat >temporaries.py <<'PROGRAM'
import os
for i in range(50):
    with open("tmp%d" % i, "wb", buffering=0) as f:
        f.write(b"x" * 100000)
    os.unlink("tmp%d" % i)
with open("open", "wb+", buffering=0) as f:
    f.write(b"y" * 100000)
    os.unlink("open")
    f.seek(99999)
    print(f.read(10), os.fstat(f.fileno()).st_nlink)
with open("new", "wb", buffering=0) as f:
    f.write(b"old" * 10000)
with open("newer", "wb", buffering=0) as f:
    f.write(b"kept")
os.rename("newer", "new")
print(open("new").read(), sorted(os.listdir(".")))
PROGRAM

mkdir a b
(cd a && plain python3 ../temporaries.py) >plain.out
spilled_flags=(--drain-delay 10s)
(cd b && spilled python3 ../temporaries.py) >spilled.out
diff -u plain.out spilled.out || fail "the program saw something else"
diff -r a b || fail "contents differ"
counter_above bytes_absorbed 5000000
# Four bytes are left of all that; a few blocks may have gone before.
[ "$(counter bytes_home)" -lt 1000000 ] ||
	fail "$(counter bytes_home) bytes of removed files went home"
counter_is bytes_undrained 0

# What a tier has of a file that was removed goes with the run.
tier=$(place "$scratch/tier")
mkdir "$scratch/tier"
for how in 'rm f' 'mv f g; >h; mv h g'; do
	"$spillway" run --tiers "ram@16M nvme:$tier@64M" --receipt "$receipt" \
		-- bash -c "dd if=/dev/zero of=f bs=10k count=3 conv=fsync \
			status=none; $how"
	counter_above syncs_down 0
	[ -z "$(ls "$scratch/tier")" ] || fail "$how: the tier still has it"
done

# Nor does a dead job count it among what is not home.
SPILLWAY_INCLUDE=$PWD SPILLWAY_DRAINER=thread SPILLWAY_DRAIN_DELAY=60s \
	LD_PRELOAD=$preload python3 -c '
import os
for name in "kept", "removed":
    fd = os.open(name, os.O_WRONLY | os.O_CREAT)
    os.write(fd, b"x" * 5000)
os.unlink("removed")
os.kill(os.getpid(), 9)' 2>err || [ $? = 137 ] || fail "$(cat err)"
"$spillway" status --json >out
grep -Eq '"files_not_home": *1[^0-9]' out || fail "status: $(cat out)"
"$spillway" recover -y >out || fail "recover: $(cat out)"
grep -q 'recovered 1 file,' out || fail "recover: $(cat out)"
[ "$(wc -c <kept)" = 5000 ] || fail "recover brought nothing home"
