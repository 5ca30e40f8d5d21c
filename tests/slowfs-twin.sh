#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# slowfs-twin.sh -- the slow mount is slow, and otherwise a file system

. tests/functions.sh
slow_mount bandwidth=40000000 latency=1

# 8 MB over 40 MB/s take at least 0.2 s.
before=$(date +%s%N)
dd if=/dev/urandom of="$scratch/slow/a" bs=64K count=128 status=none
after=$(date +%s%N)
[ $((after - before)) -ge 200000000 ] || fail "was not slow"
same_bytes "$scratch/slow/a" "$scratch/slow-back/a"
same_stat "$scratch/slow/a" "$scratch/slow-back/a"

# The same commands in a plain directory and in the mount.
use_files()
(
	cd "$1"
	umask 027
	mkdir dir
	echo one >dir/file
	echo two >>dir/file
	ln dir/file link
	echo three >>link
	[ dir/file -ef link ] || echo "links are two files"
	mv link moved
	ln -s moved symbolic
	chmod 640 moved
	touch -d '2001-02-03 04:05:06.789 UTC' moved
	truncate -s 1000000 sparse
	printf x | dd of=sparse bs=1 seek=500000 conv=notrunc status=none
	fallocate -l 8192 full
	echo gone >gone
	exec 3<gone
	rm gone
	cat <&3
	mkdir empty
	rmdir empty
	find . | sort
	find . -type f -exec stat -c '%n %s %a %h %y' {} + |
		grep moved
	cat dir/file
	cksum sparse full symbolic
	! mkdir dir 2>/dev/null || echo "made a directory twice"
	! rmdir dir 2>/dev/null || echo "removed a full directory"
)
rm "$scratch/slow/a"
use_files "$scratch/home" >"$scratch/plain.out"
use_files "$scratch/slow" >"$scratch/slow.out"
diff -u "$scratch/plain.out" "$scratch/slow.out"
diff -r "$scratch/home" "$scratch/slow"
