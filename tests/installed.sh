#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# installed.sh -- the installed command works on a program; make installcheck

set -eu

: "${spillway:?names the installed command}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export SPILLWAY_JOB=installed-$$

"$spillway" --version
"$spillway" --help >help
[ -s help ]
printf '%s\n' one two three >expected
"$spillway" run --receipt receipt.json -- \
	sh -c 'printf "one\ntwo\n" >file; echo three >>file'
cmp expected file
grep -q '"writes_absorbed"[[:space:]]*:[[:space:]]*[1-9]' receipt.json

# A program that packs bytes in memory finds header, library and codecs.
if cc --version >/dev/null 2>&1; then
	cat >program.c <<-'EOF'
	#include <spillway.h>
	#include <string.h>
	int main(void)
	{
		static char data[100000], packed[200000], back[100000];
		ssize_t n = spillway_compress(packed, sizeof(packed), data,
					      sizeof(data));

		memset(back, 1, sizeof(back));
		return n <= 0 || (n > 5000 && CODECS > 0) ||
		       spillway_decompress(back, sizeof(back), packed,
					   (size_t)n) != sizeof(back) ||
		       memcmp(data, back, sizeof(back));
	}
	EOF
	codecs=$(ls "${libdir:?}"/spillway/codec-*.so 2>/dev/null | wc -l)
	cc -DCODECS="$codecs" program.c -o program -I"${includedir:?}" \
		-L"$libdir" -lspillway-engine -Wl,-rpath,"$libdir"
	SPILLWAY_SEED=/dev/null ./program
	grep -q -- '-lspillway-engine$' "$libdir/pkgconfig/spillway-engine.pc"
fi
