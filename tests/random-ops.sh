#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# random-ops.sh -- random operations under Spillway, checked against a model
#
# Short: a seed of its own for every run, some seconds in all.  With
# SPILLWAY_CHECK_LONG=1: ten million operations.  SPILLWAY_CHECK_SEED repeats
# a run; the seed is printed with every failure.

. tests/functions.sh

ops=$top_builddir/tests/random-ops
seed=${SPILLWAY_CHECK_SEED:-$(date +%s)}
rounds=1
scale=2
if [ "${SPILLWAY_CHECK_LONG:-}" = 1 ]; then
	rounds=6
	scale=8
fi
total=0

# one NAME TIERS DELAY ABSORBS OPS ARGS...: a run in a directory of its own;
# ABSORBS is no where the kernel may serve everything after a moment.
one()
{
	local name=$1 tiers=$2 delay=$3 absorbs=$4 n=$(($5 * scale))

	shift 5
	mkdir -p "$name"
	cd "$name"
	spilled_flags=(--tiers "$tiers" --drain-delay "$delay" --quiet)
	spilled timeout 1200 "$ops" --seed "$seed" --ops "$n" \
		--image "$scratch/$name.image" "$@" data \
		>"$scratch/$name.out" 2>"$scratch/$name.err" ||
		{ cat "$scratch/$name.out" "$scratch/$name.err" >&2
		  fail "$name, seed $seed: $tiers, $delay, $*"; }
	"$ops" --compare data "$scratch/$name.image" ||
		fail "$name, seed $seed: home is not what was written"
	counter_is bytes_undrained 0
	[ "$absorbs" = no ] || counter_above bytes_absorbed 0
	total=$((total + n))
	printf '%s: %s\n' "$name" "$(tail -n 1 "$scratch/$name.out")"
	cd ..
	rm -rf "$name"
}

cached=rw,vec,append,seek,stat,open,trunc
below="ram@4M nvme:$(place "$scratch")/below@64M"
mkdir "$scratch/below"

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
	# Blocks go down to a tier and come back.
	one below "$below" 10s yes 1500 --size 24M --io 1M \
		--modes rw,vec,append,trunc,seek,open
	counter_above bytes_down 0
	one below-names "$below" 0 yes 6000 --size 8M --io 256K \
		--modes $cached,names,new,alloc,holes
	one below-all "$below" 5ms no 1500 --size 8M --io 256K --modes all
	one below-crowd "$below" 5ms yes 8000 --procs 4 --share disjoint \
		--size 24M --modes rw,vec,seek,open,stat
	one aligned ram@64M 5ms yes 10000 --align 4096 \
		--modes rw,vec,append,trunc,alloc,open,fork,holes
	one visits ram@16M 5ms yes 10000 --modes \
		rw,vec,append,trunc,alloc,open,fork,holes,stdio,copy,sendfile
	one all ram@64M 50ms no 4000 --modes all
	one bare ram@64M 0 yes 4000 --size 64K --io 8K \
		--modes rw,append,trunc,open,stat,bare,names
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
