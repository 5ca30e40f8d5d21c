#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-own.sh -- libc and the loader find what was written a moment ago in files
# that they open for themselves

. tests/functions.sh
without_sanitizer address "its library loads objects in place of libc"
without_sanitizer thread "its library loads objects in place of libc"

export OBJECT=$top_builddir/.libs/module-old.so
export LD_LIBRARY_PATH=.
spilled_flags=(--drain-delay 60s)
for form in mounts logins objects zone; do
	twin_forms "$top_builddir/tests/own-forms" $form
	counter_is bytes_undrained 0
done
