#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-home-errors.sh -- a full or broken home is told once to everyone, and
# the bytes get there when it is well again

. tests/functions.sh
checked_front
slow_mount
cd "$scratch/slow"
control=$scratch/slow/.slowfs-control

head -c 200000 /dev/zero | tr '\0' e >"$scratch/expected"
# At 150 ms a request those who wait ask a second time.
for fault in enospc:ENOSPC edquot:EDQUOT eio:EIO \
	$'latency=150\nenospc:ENOSPC'; do
	spilled_flags=(--drain-delay 200ms --include "$scratch/slow"
		--exclude "$control")
	spilled "$top_builddir/tests/home-errors" "$control" \
		"${fault%:*}-after=50000" "" >"$scratch/out" ||
		fail "${fault%:*}: ended with $?"
	# Full is what a write would have met; EIO waits for fsync.
	case $fault in
	eio:*) written=100 synced=EIO ;;
	*) written=${fault#*:} synced=0 ;;
	esac
	cat >"$scratch/words" <<-WORDS
	once: write(a, buf, sizeof(buf)) = 200000
	once: fsync(a) = ${fault#*:}
	once: fsync(b) = ${fault#*:}
	once: preadv2(b, &one, 1, 0, RWF_NOWAIT) = ${fault#*:}
	once: fsync(a) = 0
	once: fsync(b) = 0
	once: close(a) = 0
	once: close(b) = 0
	next: write(a, buf, sizeof(buf)) = 200000
	next: close(a) = 0
	next: fsync(a) = ${fault#*:}
	next: fsync(a) = 0
	next: close(b) = ${fault#*:}
	next: close(b) = 0
	next: close(a) = 0
	writer: write(a, buf, sizeof(buf)) = 200000
	writer: write(a, buf, 100) = $written
	writer: fsync(a) = $synced
	writer: write(b, buf, 100) = 100
	writer: close(b) = ${fault#*:}
	writer: close(a) = 0
	errors: write(a, buf, sizeof(buf)) = 200000
	errors: fsync(a) = ${fault#*:}
	errors: fsync(a) = ${fault#*:}
	errors: pread(b, buf, 10, 199990) = 10
	errors: fsync(a) = 0
	errors: fsync(a) = 0
	errors: fsync(b) = ${fault#*:}
	errors: fsync(b) = 0
	errors: close(a) = 0
	errors: close(b) = 0
	later: write(a, buf, sizeof(buf)) = 200000
	later: close(a) = ${fault#*:}
	later: close(c) = 0
	WORDS
	diff -u "$scratch/words" "$scratch/out" || fail "${fault%:*}"
	counter_is bytes_undrained 0
	same_bytes "$scratch/expected" errors
	same_bytes "$scratch/expected" later
	same_bytes "$scratch/expected" next
	same_bytes "$scratch/expected" once
	rm errors later next once writer
done
