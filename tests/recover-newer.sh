#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recover-newer.sh -- what went home after an fsync and was synced there is not
# undone by what a tier still had of it

. tests/functions.sh
requires_disk
requires python3 -c 'import os'
unset SPILLWAY_JOB

mkdir "$scratch/disk"
tiers="ram@16M nvme:$(place "$scratch/disk")@256M"
head -c 300000 /dev/urandom >"$scratch/old"
head -c 300000 /dev/urandom >"$scratch/new"
cat >"$scratch/write.py" <<'EOF'
import os, signal, sys, time
def put(name):
    with open(name, 'rb') as data:
        os.pwrite(fd, data.read(), 0)
fd = os.open('file', os.O_RDWR)
put(sys.argv[1])
os.fsync(fd)
put(sys.argv[2])
deadline = time.monotonic() + 30
while not os.path.exists('stop') and time.monotonic() < deadline:
    time.sleep(0.05)
if sys.argv[3] == 'synced':
    os.fsync(fd)
os.kill(os.getppid(), signal.SIGKILL)
os.kill(os.getpid(), signal.SIGKILL)
EOF

# reboot WORD: the new bytes go home, and WORD says whether they are synced
# there.
reboot()
{
	local status=0 waited=0

	rm -f stop
	head -c 300000 /dev/zero >file
	{ "$spillway" run --job newer --tiers "$tiers" -- python3 \
		"$scratch/write.py" "$scratch/old" "$scratch/new" $1 &
	while ! cmp -s file "$scratch/new" && [ $waited -lt 400 ]; do
		sleep 0.05
		waited=$((waited + 1))
	done
	: >stop
	wait $! || status=$?; } 2>/dev/null
	[ $status = 137 ] || fail "$1: ended with $status"
	same_bytes file "$scratch/new"
	rm "$shm_dir"/spillway.*/*.seg
	"$spillway" recover -y --tiers "$tiers" >out
}

reboot synced
same_bytes file "$scratch/new"

# The tier had it, or this would prove nothing.
reboot unsynced
grep -q 'recovered 1 file' out || fail "$(cat out)"
same_bytes file "$scratch/old"
