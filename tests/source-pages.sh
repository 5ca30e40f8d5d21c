#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# source-pages.sh -- every manual page is well formed and is installed

. tests/functions.sh
requires type podchecker

cd "$top_srcdir"
bad=0
count=0
for pod in */*.pod; do
	count=$((count + 1))
	podchecker -warnings "$pod" >"$scratch/out" 2>&1 ||
		{ cat "$scratch/out"; bad=1; }
	! grep -q WARNING "$scratch/out" || { cat "$scratch/out"; bad=1; }
	folder=${pod%%/*}
	grep -q "^[[:space:]]${pod%.pod}\.[1357]\( \\\\\)*$" "$folder/local.mk" ||
		{ echo "$pod is not in $folder/local.mk"; bad=1; }
done
[ $count -gt 0 ] || fail "no page found"
exit $bad
