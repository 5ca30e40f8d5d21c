#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# two-nodes-recover.sh -- what one node brings home after a reboot leaves alone
# what another has written to the same file

. tests/functions.sh
requires_disk
# Down is what does not fit into memory, not home: that takes its time.
slow_mount bandwidth=30000000
cd "$scratch/slow"
unset SPILLWAY_JOB
export scratch

mkdir "$scratch/disk"
tiers="ram@2M nvme:$(place "$scratch/disk")@64M"
for part in old one two; do
	head -c 6000000 /dev/urandom >"$scratch/$part"
done

# other FILE: the other node writes behind the end that this one knows, and all
# of it is at home.
other()
{
	until [ -e "$scratch/ready" ]; do
		sleep 0.05
	done
	dd of="$1" if="$scratch/two" bs=100000 seek=60 conv=notrunc,fsync \
		status=none
	touch "$scratch/written"
}

# both WHAT SCRIPT: what this node does before and after the other has written;
# then comes the reboot.
both()
{
	rm -f f "$scratch/ready" "$scratch/written"
	cp "$scratch/old" f
	truncate -s 12000000 f
	other f &
	rebooted one "$tiers" 'other()
		{
			touch "$scratch/ready"
			until [ -e "$scratch/written" ]; do
				sleep 0.05
			done
		}
		'"$2" "$scratch/one"
	wait $! || fail "$1: the other node"
	"$spillway" recover -y --tiers "$tiers" >out || fail "$1: $(cat out)"
	grep -q 'recovered 1 file' out || fail "$1: $(cat out)"
	dd if=f bs=100000 skip=60 status=none | cmp - "$scratch/two" ||
		fail "$1: the other node's part is gone"
	cmp -n "$3" f "$scratch/one" || fail "$1: our part is gone"
}

both "a new file" 'rm f; synced f "$1" count=60; other
	synced f "$1" count=3' 600000
both "cut by open" ': >f; synced f "$1" count=60; other
	synced f "$1" count=3' 600000
both "cut when it was synced" 'synced f "$1" count=60; : >f
	synced f "$1" count=50; other; synced f "$1" count=51' 510000
both "went down before it was synced" 'synced f "$1" count=3
	: >f; cat "$1" >f; other; sync f; synced f "$1" count=1' 6000000
