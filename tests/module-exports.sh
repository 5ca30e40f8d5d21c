#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# module-exports.sh -- a module shows one symbol and needs what it is for

. tests/functions.sh
requires readelf --version

# What NEEDED of a module may name beside the C library.
may_need()
{
	case $1 in
	codec-lz4) echo 'liblz4' ;;
	codec-zstd) echo 'libzstd' ;;
	codec-brotli) echo 'libbrotli(enc|dec)' ;;
	codec-deflate) echo 'libdeflate' ;;
	codec-lzma) echo 'liblzma' ;;
	tier-pmem) echo 'libpmem' ;;
	tiledb) echo 'nothing' ;;
	*) fail "$1 is not known here" ;;
	esac
}

seen=0
for module in "$top_builddir"/.libs/{codec-*,tier-*,tiledb}.so; do
	[ -e "$module" ] || continue
	seen=$((seen + 1))
	name=$(basename "$module" .so)
	exported=$(readelf -W --dyn-syms "$module" |
		awk '$7 ~ /^[0-9]+$/ && $5 != "LOCAL" {print $8}')
	[ "$exported" = spw_module ] || fail "$name exports" $exported
	extra=$(readelf -dW "$module" |
		sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
		grep -vE '^(libc|libdl|ld-linux.*|lib[a-z]+san)\.so' |
		grep -vE "^($(may_need "$name"))\.so" || :)
	[ -z "$extra" ] || fail "$name needs" $extra
done
[ $seen -gt 0 ] || skip "no module was built"
