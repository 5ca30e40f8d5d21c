#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# random-ops-below.sh -- random operations on blocks that go down to a tier and
# come back, since home is much slower than the program

. tests/functions.sh
. "$srcdir/random-ops-one.sh"
checked_front

slow_mount bandwidth=40000000
cd "$scratch/slow"
mkdir "$scratch/below"
tiers="ram@4M nvme:$(place "$scratch")/below@64M"

for round in $(seq $rounds); do
	one below "$tiers" 10s yes 1500 --size 24M --io 1M \
		--modes rw,vec,append,trunc,seek,open
	counter_above bytes_down 0
	one below-names "$tiers" 0 yes 6000 --size 8M --io 256K \
		--modes $cached,names,new,alloc,holes
	one below-all "$tiers" 5ms no 1500 --size 8M --io 256K --modes all
	one below-crowd "$tiers" 5ms yes 8000 --procs 4 --share disjoint \
		--size 24M --modes rw,vec,seek,open,stat
	counter_above bytes_down 0
	seed=$((seed + 1))
done
echo "$total operations"
