#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-signal.sh -- handlers that write or end come at the right moment

. tests/functions.sh
checked_front

for form in write wait exit; do
	twin_forms "$top_builddir/tests/signal-forms" $form
done
