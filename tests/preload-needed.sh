#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# preload-needed.sh -- what enters a program with us is libc and nothing else

. tests/functions.sh
requires readelf --version

dynamic=$(readelf -dW "$preload")

needed=$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' <<<"$dynamic")
for name in $needed; do
	case $name in
	libc.so.6|ld-linux*.so.*) ;;
	*) fail "libspillway.so needs $name" ;;
	esac
done

grep -q 'FLAGS_1.*NODELETE' <<<"$dynamic" || fail "no nodelete flag"
grep -q 'FLAGS_1.*NOW' <<<"$dynamic" || fail "not bound at load time"
! grep -q '(RUNPATH)\|(RPATH)' <<<"$dynamic" || fail "has a run path"
! grep -q '(TEXTREL)' <<<"$dynamic" || fail "has text relocations"
! grep -q '(VERDEF)' <<<"$dynamic" || fail "defines a version node"

# Thread-locals of ours must not call into the loader.
undefined=$(readelf -W --dyn-syms "$preload" | awk '$7 == "UND" {print $8}')
! grep -q '^__tls_get_addr' <<<"$undefined" || fail "uses dynamic TLS"

# The oldest C library that can load us: the newest version we ask for.
newest=$(sed -n 's/.*@\(GLIBC_[0-9.]*\).*/\1/p' <<<"$undefined" |
	sort -uV | tail -n 1)
built=GLIBC_$(getconf GNU_LIBC_VERSION | cut -d ' ' -f 2)
echo "libspillway.so asks for ${newest:-no version}, built on $built"
[ "$(printf '%s\n' "$newest" "$built" | sort -V | tail -n 1)" = "$built" ] ||
	fail "asks for $newest, newer than the C library it was built with"
