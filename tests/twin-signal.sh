#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-signal.sh -- handlers that write, jump or end come at the right moment

. tests/functions.sh

for form in write jump values wait exit; do
	twin_forms "$top_builddir/tests/signal-forms" $form
done
