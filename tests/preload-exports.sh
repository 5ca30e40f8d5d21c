#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# preload-exports.sh -- what we define for others is the table, no more

. tests/functions.sh
requires readelf --version

table=$top_srcdir/interpose/symbols.h
requires_file "$table" "no wrapped symbols in this tree"

# Lines SPW_SYM(name, class); what is classed as ignored is not wrapped.
sed -n 's/^[[:space:]]*SPW_SYM(\([A-Za-z0-9_]*\),[[:space:]]*\([A-Za-z0-9_]*\).*/\1 \2/p' \
	"$table" | awk '$2 != "ignore" {print $1}' | sort -u >expected
[ -s expected ] || fail "no SPW_SYM line in $table"

readelf -W --dyn-syms "$preload" |
	awk '$7 != "UND" && $5 != "LOCAL" && $7 ~ /^[0-9]+$/ {print $8}' |
	sort -u >found

! grep '@' found || fail "symbols with a version"
diff -u expected found || fail "table (-) and exports (+) differ"
