#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-file-table.sh -- a process joins while the system has no open file left
#
# What others have written is not home yet: it is not to be read past that, nor
# cut.  The process is told ENFILE, as by the kernel, after some seconds.

. tests/functions.sh
deny=$top_builddir/tests/deny
requires "$deny" madvise true

mkdir dir
mkfifo read.go cut.go
echo old >dir/read
echo old >dir/cut
echo beyond >beyond
spilled_flags=(--drain-delay 60s --include "$PWD/dir")
# Who is about to be denied something has all brought home: so they wait, for
# what is written after that.
spilled bash -c '
	"$0" segment=ENFILE cat read.go dir/read >read.out 2>read.err &
	"$0" segment=ENFILE dd if=cut.go of=dir/cut status=none 2>cut.err &
	"$0" segment=ENFILE cat beyond >beyond.out 2>&1
	for name in read cut; do
		echo "new bytes" | dd of=dir/$name status=none conv=notrunc
	done
	for name in read cut; do
		timeout 30 bash -c ": >$name.go"
	done
	wait
	cat dir/read >later.out' "$deny" ||
	fail "ended with $?"
counter_above writes_absorbed 1
[ "$(cat later.out)" = "new bytes" ] || fail "was read: $(cat later.out)"
[ ! -s read.out ] || fail "read past others: $(cat read.out)"
grep -q 'Too many open files in system' read.err || fail "$(cat read.err)"
grep -q 'Too many open files in system' cut.err || fail "$(cat cut.err)"
[ "$(cat dir/cut)" = "new bytes" ] || fail "was cut: $(cat dir/cut)"
[ "$(cat beyond.out)" = beyond ] || fail "$(cat beyond.out)"
