#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# program-fio.sh -- fio finds its data again, whatever engine it uses

. tests/functions.sh
. "$srcdir/program-functions.sh"
requires fio --version

size=3m
is_long && size=200m
try()
{
	local engine=$1 name=$2

	shift 2
	fio --enghelp 2>/dev/null | grep -qw "$engine" || return 0
	if ! (cd probe && fio --name=p --ioengine="$engine" --size=64k \
		--rw=write >/dev/null 2>&1); then
		echo "$engine does not work here, even without Spillway"
		return 0
	fi
	(cd spilled && spilled fio --name=$name --filename=$name \
		--ioengine="$engine" --size=$size --verify=crc32c \
		--do_verify=1 --verify_fatal=1 --verify_state_save=0 \
		--randseed=7 --minimal "$@") >$name.out 2>$name.err ||
		{ cat $name.err >&2; fail "$name does not verify"; }
	counter_is bytes_undrained 0
	# What it left at home, read without Spillway.
	(cd spilled && fio --name=$name --filename=$name --ioengine=psync \
		--size=$size --verify=crc32c --verify_only=1 \
		--verify_fatal=1 --verify_state_save=0 --randseed=7 \
		--minimal "$@") >$name.out 2>$name.err ||
		{ cat $name.err >&2; fail "$name is not at home"; }
}

mkdir probe spilled
for engine in psync vsync pvsync2; do
	try $engine $engine-write --rw=write --bs=12k
	counter_above bytes_absorbed 1000000
	try $engine $engine-random --rw=randwrite --bsrange=512-20k \
		--bs_unaligned=1 --norandommap=0
	counter_above bytes_absorbed 1000000
done
try psync threads --rw=randwrite --bs=4k --fsync=50 --thread
counter_above bytes_absorbed 1000000
for engine in posixaio libaio; do
	try $engine $engine --rw=randwrite --bs=4k --iodepth=16
	[ ! -s $engine.out ] || bypassed aio
done
try mmap mmap --rw=randwrite --bs=4k
bypassed mmap
try io_uring io_uring --rw=randwrite --bs=4k --iodepth=16
[ ! -s io_uring.out ] || bypassed io_uring
try psync direct --rw=randwrite --bs=4k --direct=1
bypassed direct
