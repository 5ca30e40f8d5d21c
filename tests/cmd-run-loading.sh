#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-run-loading.sh -- a program that takes long to load is not called bare

. tests/functions.sh

# Spillway itself lies in a slow file system, so its library comes late.
slow_mount latency=0
mkdir "$scratch/slow/.libs"
cp "$spillway" "$scratch/slow/"
cp "$preload" "$scratch/slow/.libs/"
slow_unmount slow
slow_mount latency=600
begin=$SECONDS
spillway=$built/tests/tmp/$test_name.$$/slow/spillway
spilled sleep 1 2>out
[ $((SECONDS - begin)) -ge 3 ] || fail "it was loaded at once"
[ ! -s out ] || { cat out; fail "it said something"; }

# One that really is without the library is.
spillway=$top_builddir/spillway
spilled env -u LD_PRELOAD sleep 2 2>out
grep -q W173 out || fail "nothing was said of a program without the library"
