#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-signal-stack.sh -- a handler on a small stack may use files, and is not
# overwritten by the next one

. tests/functions.sh
for sanitizer in address thread; do
	without_sanitizer $sanitizer "takes more stack than the test leaves"
done

for form in small nested; do
	twin_forms "$top_builddir/tests/signal-stack" $form
done

# Nobody serves the first file of a process yet: the handler starts the drainer.
for drainer in agent thread; do
	rm -rf cold
	mkdir cold
	(cd cold && SPILLWAY_DRAINER=$drainer SPILLWAY_INCLUDE=$PWD \
		LD_PRELOAD=$preload "$top_builddir/tests/signal-stack" nested) ||
		fail "the drainer is of the kind $drainer"
	"$spillway" drain --wait --timeout 60s >/dev/null 2>&1 || :
	diff -r nested-plain cold || fail "$drainer: files differ"
done
