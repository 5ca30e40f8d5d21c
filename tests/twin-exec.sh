#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-exec.sh -- a new image finds its files, with us or without

. tests/functions.sh
without_sanitizer thread "its options are lost where an environment is new"
checked_front

# A reader that nothing can be loaded into, if this compiler makes one.
cat >cat.c <<'SOURCE'
#include <stdio.h>
int
main(int argc, char **argv)
{
	for (int i = 1, c; i < argc; i++)
		for (FILE *f = fopen(argv[i], "r"); f && (c = getc(f)) >= 0;)
			putchar(c);
	return 0;
}
SOURCE
cc -static cat.c -o static-cat 2>/dev/null || rm -f static-cat
prepare()
{
	[ ! -e static-cat ] || cp static-cat "$1"
}

for form in replace cloexec ways failure outsiders fresh signals; do
	twin_forms "$top_builddir/tests/exec-forms" $form
done
