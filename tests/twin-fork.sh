#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-fork.sh -- children of every kind share positions and see the bytes

. tests/functions.sh

for form in fork _Fork syscall vfork vfork-signal daemon forkpty atfork \
	clone readers threads tree; do
	twin_forms "$top_builddir/tests/fork-forms" $form
done
