#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# native-link.sh -- a C and a C++ program pack bytes without the preload

. tests/functions.sh

cat >program.c <<'EOF'
#include <spillway.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
main(void)
{
	size_t n = 3000000, room = spillway_compress_bound(n), i;
	char *data = (char *)malloc(n), *packed = (char *)malloc(room);
	char *back = (char *)calloc(n, 1);
	ssize_t used;

	for (i = 0; i < n; i++)
		data[i] = (char)(i / 100);
	if (spillway_weigh("archive") || !spillway_weigh("all"))
		return 1;
	used = spillway_compress(packed, room, data, n);
	if (used <= 0 || used > 300000)
		return 2;
	if (spillway_decompressed_size(packed, (size_t)used) != (ssize_t)n)
		return 3;
	if (spillway_decompress(back, n, packed, (size_t)used) != (ssize_t)n ||
	    memcmp(data, back, n))
		return 4;
	packed[used / 2] ^= 1;
	errno = 0;
	if (spillway_decompress(back, n, packed, (size_t)used) != -1 ||
	    errno != EBADMSG)
		return 5;
	printf("%zd\n", used);
	return 0;
}
EOF

without_sanitizer address "its library would have to come first"
without_sanitizer thread "its library would have to come first"

# build COMPILER SOURCE
build()
{
	"$@" -Wall -Werror -I"$top_srcdir/shm" -o program \
		-L"$top_builddir/.libs" -lspillway-engine \
		-Wl,-rpath,"$top_builddir/.libs"
}

requires cc --version
build cc program.c || fail "a C program does not build"
! readelf -dW program 2>/dev/null | grep -q 'libspillway\.so' ||
	fail "the program loads what is preloaded"
./program || fail "the C program ends with $?"
SPILLWAY_WEIGHTS=0.5,0.5,0.5 ./program 2>err || fail "settings end it"
[ "$(wc -l <err)" = 1 ] && grep -q 'E114' err ||
	fail "weights that do not add up: $(cat err)"
mkdir -p "$XDG_CACHE_HOME/spillway"
echo '{ "spillway-seed": ' >"$XDG_CACHE_HOME/spillway/seed.json"
./program 2>err || fail "a damaged seed ends it"
[ "$(wc -l <err)" = 1 ] && grep -q 'ignored' err ||
	grep -q 'no JSON' err || fail "a damaged seed: $(cat err)"

requires c++ --version
cp program.c program.cc
build c++ program.cc || fail "a C++ program does not build"
SPILLWAY_SEED=/dev/null ./program || fail "the C++ program ends with $?"
