#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-home-errors.sh -- a full or broken home is told once to everyone, and
# the bytes get there when it is well again

. tests/functions.sh
slow_mount
cd "$scratch/slow"
control=$scratch/slow/.slowfs-control

head -c 200000 /dev/zero | tr '\0' e >"$scratch/expected"
# At 150 ms a request those who wait ask a second time.
for fault in enospc:ENOSPC eio:EIO $'latency=150\nenospc:ENOSPC'; do
	spilled_flags=(--drain-delay 20ms --include "$scratch/slow"
		--exclude "$control")
	spilled "$top_builddir/tests/home-errors" "$control" \
		"${fault%:*}-after=50000" "" >"$scratch/out" ||
		fail "${fault%:*}: ended with $?"
	cat >"$scratch/words" <<-WORDS
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
	rm errors later
done
