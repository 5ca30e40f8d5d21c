#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# below-cases.sh -- blocks below memory, one case after another

. tests/functions.sh
requires_disk

mkdir below
"$top_builddir/tests/below-cases" "$here/below" || fail "see above"
