#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-signal-many.sh -- every signal arrives, in time and with its value

. tests/functions.sh
without_sanitizer thread "delivers signals late, and of many only one"
checked_front

for form in jump values; do
	twin_forms "$top_builddir/tests/signal-forms" $form
done
