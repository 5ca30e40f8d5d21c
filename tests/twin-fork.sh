#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-fork.sh -- children of every kind share positions and see the bytes

. tests/functions.sh
checked_front

for form in fork _Fork syscall vfork daemon forkpty atfork clone readers \
	tree steps; do
	# The library of this sanitizer does not survive one, nor plain.
	[[ $form != clone || ,$sanitizers, != *,thread,* ]] || continue
	twin_forms "$top_builddir/tests/fork-forms" $form
done
