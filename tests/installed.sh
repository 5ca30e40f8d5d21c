#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# installed.sh -- the installed command works on a program; make installcheck

set -eu

: "${spillway:?names the installed command}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export SPILLWAY_JOB=installed-$$

"$spillway" --version
"$spillway" --help >help
[ -s help ]
printf '%s\n' one two three >expected
"$spillway" run --receipt receipt.json -- \
	sh -c 'printf "one\ntwo\n" >file; echo three >>file'
cmp expected file
grep -q '"writes_absorbed"[[:space:]]*:[[:space:]]*[1-9]' receipt.json
