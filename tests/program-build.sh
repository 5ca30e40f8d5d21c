#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# program-build.sh -- make and the compiler build Spillway under Spillway

. tests/functions.sh
. "$srcdir/program-functions.sh"
without_sanitizer address "without optimisation gcc warns of its loops"
requires make --version
requires_file "$top_builddir/config.status" "not configured"
[ "$top_srcdir" != "$top_builddir" ] ||
	cannot "the sources hold a build, make would use it"
if [ -n "$links" ]; then		# configure wants names without blanks
	ln -s "$top_srcdir" "$links/sources"
	top_srcdir=$links/sources top_builddir=$built
	cd "$here"
fi
compiler=$(sed -n 's/^CC = //p' "$top_builddir/Makefile")
requires ${compiler%% *} --version

# The build trees take turns at one place, so that objects name the same
# paths. The short form starts from what configure has found.
export top_srcdir top_builddir compiler
how=configured
is_long && [ -x "$top_srcdir/configure" ] && how=configures
cat >configured <<'SCRIPT'
sed -e "s|^srcdir=.*|srcdir='$top_srcdir'|" -e "s|^ac_pwd=.*|ac_pwd='$PWD'|" \
	-e "s|^ac_aux_dir=.*|ac_aux_dir='$top_srcdir/build-aux/'|" \
	"$top_builddir/config.status" >config.status
chmod +x config.status
./config.status >config.out 2>&1
SCRIPT
cat >configures <<'SCRIPT'
"$top_srcdir/configure" -q CC="$compiler" >config.out 2>&1
SCRIPT
cat >script <<SCRIPT
. ../$how || { tail config.out; exit 1; }
make -s -j2 CFLAGS=-O0 spillway >make.out 2>&1 ||
	{ tail -n 20 make.out; exit 1; }
make -q CFLAGS=-O0 spillway && echo nothing left to do
./spillway --version
SCRIPT

mkdir tree
(cd tree && plain bash ../script) >plain.out || {
	cat plain.out >&2
	fail "does not build without Spillway either"
}
mv tree plain
mkdir tree
(cd tree && spilled bash ../script) >spilled.out || {
	cat spilled.out >&2
	fail "does not build under Spillway"
}
mv tree spilled
same_bytes plain.out spilled.out
counter_above bytes_absorbed 1000000
counter_is bytes_undrained 0

objects=0
while IFS= read -r object; do
	same_bytes plain/"$object" spilled/"$object"
	objects=$((objects + 1))
done < <(cd plain && find . -name '*.o')
[ $objects -gt 30 ] || fail "only $objects objects were built"
same_bytes plain/spillway spilled/spillway
plain spilled/spillway --version >/dev/null
