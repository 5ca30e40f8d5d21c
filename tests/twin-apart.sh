#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-apart.sh -- threads with descriptors of their own, a second libc, leases,
# and a segment that can no longer be opened

. tests/functions.sh

for form in unshared range marked another-libc lease; do
	for delay in 60s 0; do
		spilled_flags=(--drain-delay $delay)
		rm -rf $form-plain $form-spilled
		twin_forms "$top_builddir/tests/apart-forms" $form
		grep -Eq '"(clone|lease)"' "$receipt" ||
			fail "$form: the kernel was not told to serve it"
	done
done

# A drainer that serves is seen from memory alone.
prepare()
{
	unset SEGMENTS
	[ "$1" = out-of-sight-plain ] ||
		export SEGMENTS=$shm_dir/spillway.$(id -u)
}
spilled_flags=(--drain-delay 60s)
twin_forms "$top_builddir/tests/apart-forms" out-of-sight
