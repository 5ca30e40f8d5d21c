#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-passed.sh -- descriptors that a process is given by another

. tests/functions.sh
checked_front

for form in one many number many-number pidfd child; do
	twin_forms "$top_builddir/tests/passed-forms" $form
done
