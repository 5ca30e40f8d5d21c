#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# random-ops.sh -- random operations under Spillway, checked against a model

. tests/functions.sh
. "$srcdir/random-ops-one.sh"
checked_front

for round in $(seq $rounds); do
	# The checker itself, without us.
	plain "$ops" --seed "$seed" --ops 5000 --modes all,-sync base

	one cached ram@64M 5ms yes 60000 --io 16K --modes $cached
	one small ram@4M 50ms yes 30000 --size 8K --io 600 \
		--modes rw,append,trunc,open,stat
	one names ram@4M 0 yes 25000 --io 16K --modes $cached,names,new
	one large ram@4M 5ms yes 1500 --size 24M --io 1M \
		--modes rw,vec,append,trunc,seek
	one sparse ram@64M 5ms yes 8000 --sparse \
		--modes all,-exec,-bare,-fork,-mmap,-sync
	one aligned ram@64M 5ms yes 10000 --align 4096 \
		--modes rw,vec,append,trunc,alloc,open,fork,holes
	one visits ram@16M 5ms yes 10000 --modes \
		rw,vec,append,trunc,alloc,open,fork,holes,stdio,copy,sendfile
	one all ram@64M 50ms no 4000 --modes all
	one bare ram@64M 0 yes 4000 --size 64K --io 8K \
		--modes rw,append,trunc,open,stat,bare,names,new
	one locked ram@64M 5ms yes 20000 --procs 4 --share locked \
		--modes $cached,names,new
	one disjoint ram@4M 5ms yes 40000 --procs 4 --share disjoint \
		--modes rw,vec,seek,open,stat
	one crowd ram@4M 0 yes 20000 --procs 12 --share disjoint --size 2M \
		--modes rw,vec,seek,open,stat
	one locked-all ram@64M 0 no 6000 --procs 4 --share locked \
		--modes all,-exec,-bare
	# One maps the file while others are in the middle of a write.
	for i in 1 2 3; do
		one leaving ram@64M 5ms no 400 --procs 3 --share disjoint \
			--size 4M --io 1M --modes rw,vec,mmap,open
		seed=$((seed + 1))
	done
	seed=$((seed + 1))
done
echo "$total operations"
