#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-lost-preload.sh -- children without the preload, and redirections

. tests/functions.sh

cat >reader.c <<'PROGRAM'
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char buf[65536];
	long n, sum = 0, bytes = 0;
	int fd = open(argc > 1 ? argv[1] : "/dev/stdin", O_RDONLY);

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		for (bytes += n; n > 0; n--)
			sum = sum * 31 + buf[n - 1];
	printf("%ld bytes, sum %lx\n", bytes, sum);
	return 0;
}
PROGRAM
has_static=
if gcc -static -o static-reader reader.c 2>/dev/null; then
	has_static=yes
fi
gcc -o reader reader.c || skip "no compiler"
if [ "$(id -u)" = 0 ]; then
	cp reader setuid-reader
	chown 65534 setuid-reader
	chmod 4755 setuid-reader
fi
export has_static

cat >steps.sh <<'STEPS'
set -e
head -c 100000 /dev/zero | tr '\0' x | dd of=one bs=777 2>/dev/null
env -i ../reader one
env -u LD_PRELOAD ../reader one
[ -z "$has_static" ] || ../static-reader one
[ ! -e ../setuid-reader ] || ../setuid-reader one
exec 5>two
echo "written by the shell" >&5
dd if=one bs=1000 count=20 2>/dev/null >&5
env -i ../reader two
[ -z "$has_static" ] || ../static-reader two
echo more >&5
env -i /bin/sh -c 'echo from a child without it' >&5
echo and more >&5
exec 5>&-
cat two | wc -c
(
	echo one
	echo two
	env -i /bin/echo three
	dd if=one bs=10 count=1 2>/dev/null
	echo four
) >three
cat three
(echo a; ls /nonexistent; echo b) >four 2>&1 || :
{ cat; echo tail; } <three >>four
{ read -r first; read -r second; cat; echo "$first $second"; } <three
sort <three >five
sort -r three -o three
../reader <five
for i in 1 2 3; do echo "line $i"; done | tee six >seven
cat six seven three four
while read -r line; do echo "[$line]"; done <six >>seven
exec >eight
echo to eight
env -i /bin/echo also to eight
cat seven
STEPS

mkdir a
(cd a && plain bash ../steps.sh) >plain.out
for delay in 10s 1ms; do
	rm -rf b
	mkdir b
	spilled_flags=(--drain-delay $delay)
	(cd b && spilled bash ../steps.sh) >spilled.out
	diff -u plain.out spilled.out || fail "with a delay of $delay"
	diff -r a b || fail "contents differ with a delay of $delay"
	counter_above bytes_absorbed 100000
	counter_is bytes_undrained 0
done
[ -n "$has_static" ] || echo "not tried: static programs, no static libc"
