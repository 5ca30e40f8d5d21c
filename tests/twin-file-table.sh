#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-file-table.sh -- a process joins while the system has no open file left,
# or it has none itself
#
# What others have written is not home yet: it is not to be read past that, nor
# cut, shown, started, or called otherwise.  The process is told ENFILE, as by
# the kernel, after some seconds.

. tests/functions.sh
deny=$top_builddir/tests/deny
requires "$deny" madvise true
requires perl -e 1

calls='stat truncate rename link unlink exec'
cat >call.pl <<'PROGRAM'
my $what = shift;
my $file = "dir/$what";
my %calls = (
	stat => sub { my @s = stat($file) or return; print "$s[7]\n" },
	truncate => sub { truncate($file, 1) },
	rename => sub { rename($file, "dir/other") },
	link => sub { link($file, "dir/link.too") },
	unlink => sub { unlink($file) },
	exec => sub { no warnings; exec { $file } $file },
);
open(my $go, "<", "$what.go") && <$go>;
$calls{$what}() or die "$!\n";
PROGRAM

mkdir dir
mkfifo read.go cut.go
for name in $calls; do
	mkfifo $name.go
	printf '#!/bin/sh\necho old\n' >dir/$name
	chmod +x dir/$name
done
echo old >dir/read
echo old >dir/cut
echo beyond >beyond
spilled_flags=(--drain-delay 60s --include "$PWD/dir")
# Who is about to be denied something has all brought home: so they wait, for
# what is written after that.
spilled bash -c '
	"$0" segment=ENFILE cat read.go dir/read >read.out 2>read.err &
	"$0" segment=ENFILE dd if=cut.go of=dir/cut status=none 2>cut.err &
	for name in $1; do
		"$0" segment=ENFILE perl call.pl $name \
			>$name.out 2>$name.err &
	done
	"$0" segment=ENFILE cat beyond >beyond.out 2>&1
	for name in read cut $1; do
		echo "new bytes" | dd of=dir/$name status=none conv=notrunc
	done
	for name in read cut $1; do
		timeout 30 bash -c ": >$name.go"
	done
	wait
	cat dir/read >later.out' "$deny" "$calls" ||
	fail "ended with $?"
counter_above writes_absorbed 1
[ "$(cat later.out)" = "new bytes" ] || fail "was read: $(cat later.out)"
[ ! -s read.out ] || fail "read past others: $(cat read.out)"
grep -q 'Too many open files in system' read.err || fail "$(cat read.err)"
grep -q 'Too many open files in system' cut.err || fail "$(cat cut.err)"
[ "$(cat dir/cut)" = "new bytes" ] || fail "was cut: $(cat dir/cut)"
[ "$(cat beyond.out)" = beyond ] || fail "$(cat beyond.out)"
for name in $calls; do
	[ ! -s $name.out ] || fail "$name: $(cat $name.out)"
	grep -q 'Too many open files in system' $name.err ||
		fail "$name: $(cat $name.err)"
	[ "$(head -n 1 dir/$name)" = "new bytes" ] ||
		fail "$name: the file is $(cat dir/$name)"
done
[ ! -e dir/link.too ] || fail "it has another name"

# Who has no descriptor left himself joins all the same.  It is not to look at
# any file before, as at its program.
cat >few.pl <<'PROGRAM'
my @all;
while (open(my $f, "<", "/dev/null")) { push(@all, $f) }
my @s = stat("dir/few");
print "$s[7] bytes\n";
pop(@all);
open(my $f, "<", "dir/few") or die "$!\n";
print <$f>;
close($f);
truncate("dir/few", 3) or die "$!\n";
PROGRAM
echo old >dir/few
spilled bash -c 'echo "new bytes" | dd of=dir/few status=none conv=notrunc
	program=$(cat few.pl)
	(ulimit -n 20; perl -e "$program"); cat dir/few' >few.out 2>&1 ||
	fail "$(cat few.out)"
printf '10 bytes\nnew bytes\nnew' | diff - few.out || fail "few descriptors"
[ "$(cat dir/few)" = new ] || fail "was not cut: $(cat dir/few)"
