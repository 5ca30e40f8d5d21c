#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-spawn.sh -- posix_spawn, system and popen give children the right files

. tests/functions.sh

for form in inherit actions elsewhere follow outsider failure system popen \
	behind; do
	twin_forms "$top_builddir/tests/spawn-forms" $form
done
