#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# source-reasons.sh -- every reason to leave a file to the kernel is explained

. tests/functions.sh

page=$top_srcdir/tools/spillway-status.pod
reasons=$(sed -n '/^spw_bypass_name/,/^}/s/"/\n/gp' "$top_srcdir/shm/files.c" |
	grep -x '[a-z_-]*' | grep -vx -e none -e unknown)
[ "$(wc -l <<<"$reasons")" -gt 10 ] || fail "no reasons found"
for reason in $reasons; do
	grep -q "B<$reason>" "$page" || fail "$reason is not in spillway-status"
done
for reason in $(sed -n '/^=head1 REASONS/,/^=head1 EXIT/p' "$page" |
	grep '^=item' | grep -o 'B<[^>]*>' | sed 's/B<\(.*\)>/\1/'); do
	grep -qx -- "$reason" <<<"$reasons" || fail "$reason is no reason"
done
