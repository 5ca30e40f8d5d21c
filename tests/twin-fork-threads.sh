#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-fork-threads.sh -- forks among threads, and signals during vfork

. tests/functions.sh
without_sanitizer thread "takes _Fork for a call like others, vfork for fork"
checked_front

for form in vfork-signal threads first-ends; do
	twin_forms "$top_builddir/tests/fork-forms" $form
done
