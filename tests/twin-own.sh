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

# More than memory holds, and a home that takes its time: the object is in a
# tier when it is closed.
slow_mount bandwidth=4000000
cd "$scratch/slow"
mkdir "$scratch/tier"
spilled_flags+=(--tiers "ram@2M nvme:$(place "$scratch/tier")@64M")
twin_forms "$top_builddir/tests/own-forms" evicted
counter_is bytes_undrained 0
counter_above bytes_down $((1 << 20))
