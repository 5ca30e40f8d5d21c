#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# completion.sh -- bash is offered the commands and options that --help names

. tests/functions.sh

. "$top_srcdir/tools/spillway.bash"

# offered WORD...: what bash would offer for the last word of the line.
offered()
{
	COMP_WORDS=("$spillway" "$@")
	COMP_CWORD=$#
	_spillway
	printf '%s\n' "${COMPREPLY[@]}"
}

offered --ver | grep -x -- --version >/dev/null ||
	fail "--version is not offered"
commands=$("$spillway" --help | sed -n 's/^  \([a-z][a-z-]*\).*/\1/p')
for name in $commands; do
	offered "${name:0:1}" | grep -x "$name" >/dev/null ||
		fail "$name is not offered"
done

# Behind -- it is the user's program that is completed.
if [[ " $commands " = *run* ]]; then
	offered run -- ca | grep -x cat >/dev/null || fail "programs are not offered"
fi

if type zsh >/dev/null 2>&1; then
	zsh -n "$top_srcdir/tools/spillway.zsh"
fi
