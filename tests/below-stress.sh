#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# below-stress.sh -- many lanes on files that are mostly in a tier below memory

. tests/functions.sh

seconds=3
[ "${SPILLWAY_CHECK_LONG:-}" != 1 ] || seconds=60
mkdir below
"$top_builddir/tests/unit-cache-stress" $seconds "$(date +%s)" "$here/below" ||
	fail "blocks below are not what was written"
[ -z "$(find below -name '*.log')" ] || fail "the tier's files were left"
