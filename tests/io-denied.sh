#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# io-denied.sh -- threads take over where io_uring is forbidden or not wanted

. tests/functions.sh

io=$top_builddir/tests/unit-io
status=0
"$top_builddir/tests/deny" io_uring_setup "$io" threads || status=$?
[ $status != 77 ] || cannot "no seccomp filters here"
[ $status = 0 ] || fail "forbidden: ended with $status"
SPILLWAY_IO=threads "$io" threads || fail "not wanted: ended with $?"

# Without locked memory either way goes on.
bash -c 'ulimit -l 0; exec "$1"' - "$io" || fail "no memlock: ended with $?"
