#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-keep-away.sh -- a stub whose bytes cannot be had is not read for the file

. tests/functions.sh
requires_disk
mkdir "$scratch/disk"
tiers="ram@16M nvme:$(place "$scratch/disk")@64M"
head -c 3000000 /dev/urandom >"$scratch/data"

setfattr -n user.spillway.test -v x "$scratch/data" 2>/dev/null ||
	python3 -c 'import os, sys
os.setxattr(sys.argv[1], "user.spillway.test", b"x")' "$scratch/data" ||
	cannot "no extended attributes here"

"$spillway" run --at-exit keep --tiers "$tiers" -- \
	dd if="$scratch/data" of=file bs=64k 2>"$scratch/err"
grep -q 'kept 1 file' "$scratch/err" || fail "$(cat "$scratch/err")"
chmod 644 file			# somebody gave it rights
mv "$scratch/disk" "$scratch/away"

fails_with 1 "$spillway" run --tiers ram@16M -- cat file \
	>"$scratch/out" 2>"$scratch/err"
grep -q 'file: Input/output error' "$scratch/err" || fail "$(cat "$scratch/err")"
[ ! -s "$scratch/out" ] || fail "read the stub"

# Who writes over all of it wants nothing of what there was.
cp file "$scratch/stub"
"$spillway" run --tiers ram@16M -- sh -c 'echo mine >file'
[ "$(cat file)" = mine ] || fail "not written"
[ "$("$spillway" run --tiers ram@16M -- cat file)" = mine ] || fail "not read"

# It is there again, and so is the file.
cat "$scratch/stub" >file
truncate -s 4096 file
truncate -s 3000000 file
mv "$scratch/away" "$scratch/disk"
"$spillway" run --tiers ram@16M -- cat file >"$scratch/out"
same_bytes "$scratch/out" "$scratch/data"
same_bytes file "$scratch/data"
