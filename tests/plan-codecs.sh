#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# plan-codecs.sh -- every codec packs what a live job sends down, by the log of
# decisions and by the receipt, and it comes back right

. tests/functions.sh
. "$srcdir/plan-functions.sh"

text=(write:a:2000:0:18M:1M check:a:0:18M:256K "save:a:$scratch/a")
tried=0
for way in lz4 zstd=3 zstd=-5 brotli=1 brotli=4 deflate=6 lzma=0; do
	"$top_builddir/tests/list-features" |
		grep "^codec *${way%%=*} *yes" >/dev/null || continue
	pin=+$way
	packed -- "${text[@]}"
	echo "$way: $stored of 1000;" $(cat "$scratch/packed")
	! grep -v '= 0$\|= right$' "$scratch/out" || fail "$way: not right"
	counter_above bytes_down 2000000
	counter_is bytes_undrained 0
	[ $stored -lt 700 ] || fail "$way packed to $stored of 1000"
	grep "\\b${way%=[0-9]*}" "$scratch/packed" >/dev/null ||
		fail "$way did not pack it"
	! grep -Ev "none|raw|\\b${way%%=*}" "$scratch/packed" ||
		fail "$way: another packed"
	same_bytes "$scratch/a" a
	tried=$((tried + 1))
done
[ $tried -gt 0 ] || cannot "no codec but none in this build"
