#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# module-missing.sh -- a missing module or library takes one choice away

. tests/functions.sh

unset SPILLWAY_TILEDB_LIB
built=$top_builddir/.libs
export XDG_CACHE_HOME=$scratch/cache
mkdir modules "$XDG_CACHE_HOME"

# expect NAME PRESENT PATTERN [DIR]: what the list says of a part.
expect()
{
	local line

	line=$("$top_builddir/tests/list-features" "${4-modules}" |
		awk -v name="$1" '$2 == name')
	grep -Eq "^[a-z]+ +$1 +$2 +.*${3-}" <<<"$line" ||
		fail "expected $1 $2 '${3-}', got: $line"
}

# without_library MODULE: a copy that asks for a library nobody has.
without_library()
{
	sed "s/\(lib${1#codec-}[a-z]*\.so\.\)[0-9]/\1X/g" "$built/$1.so" \
		>"modules/$1.so"
}

# Nothing there: no module is an error, and the rest works.
expect none yes 'built in'
expect crc32c yes
for codec in lz4 zstd brotli deflate lzma; do
	expect $codec no "codec-$codec.so is not in modules$"
done
expect tiledb no "tiledb.so is not in modules$"
expect lz4 no 'codec-lz4.so is not in /nowhere$' /nowhere
"$top_builddir/tests/codec-conformance" modules >log && fail "all present?"
grep -q '^none: built in' log || fail "none was not tested"

# Not a module.
echo 'this is text' >modules/codec-zstd.so
expect zstd no 'codec-zstd.so: (invalid ELF header|file too short)'
cp "$built/libspillway-engine.so" modules/codec-zstd.so
expect zstd no 'codec-zstd.so is not a module of ours$'

# One that ends too early, wherever that is, and what is no file.
for codec in lz4 zstd; do
	[ -e "$built/codec-$codec.so" ] || continue
	size=$(stat -c %s "$built/codec-$codec.so")
	for cut in $(seq 0 1531 "$size"); do
		head -c "$cut" "$built/codec-$codec.so" \
			>modules/codec-$codec.so
		timeout 20 "$top_builddir/tests/list-features" modules \
			>list || fail "cut to $cut bytes: $?"
		[ "$cut" -gt 8192 ] ||
			grep -q "^codec *$codec *no .*\(too short\|cut short\)" \
			list || fail "cut to $cut bytes: $(cat list)"
	done
	rm modules/codec-$codec.so
	mkfifo modules/codec-$codec.so
	timeout 20 "$top_builddir/tests/list-features" modules >list ||
		fail "a FIFO: $?"
	grep -q "^codec *$codec *no .*no regular file" list ||
		fail "a FIFO: $(cat list)"
	rm modules/codec-$codec.so
done

# A module of another version, and one under another name.
cp "$built/module-old.so" modules/codec-lz4.so
expect lz4 no 'codec-lz4.so has module version 2, this engine needs 3$'
for from in lz4 zstd brotli deflate lzma; do
	[ -e "$built/codec-$from.so" ] || continue
	to=zstd
	[ $from != zstd ] || to=lz4
	cp "$built/codec-$from.so" modules/codec-$to.so
	expect $to no "codec-$to.so calls itself codec-$from$"
	rm modules/codec-$to.so

	# Its library ends too early, or is a FIFO, where the loader looks.
	cp "$built/codec-$from.so" modules/
	mkdir libraries
	library=$(ldd "$built/codec-$from.so" |
		sed -n "s/.* => \(.*\/lib$from[a-z]*\.so[.0-9]*\) .*/\1/p" |
		head -n 1)
	if [ -n "$library" ]; then
		broken=libraries/$(basename "$library")
		head -c 20000 "$library" >"$broken"
		LD_LIBRARY_PATH=$PWD/libraries \
			expect $from no "$(literally "$PWD/$broken"): file is cut short$"
		rm "$broken"
		mkfifo "$broken"
		LD_LIBRARY_PATH=$PWD/libraries \
			expect $from no "$(literally "$PWD/$broken"): no regular file$"

		# One for other machines is nobody's library.
		rm "$broken"
		head -c 20000 "$library" | LC_ALL=C sed \
			'1s/^\(.ELF\)\x02/\1\x01/;t;1s/^\(.ELF\)\x01/\1\x02/' \
			>"$broken"
		LD_LIBRARY_PATH=$PWD/libraries expect $from yes
	fi
	rm -r libraries modules/codec-$from.so

	# Its library is missing; the others are as they were.
	without_library codec-$from
	expect $from no "lib$from[a-z]*\.so\.X: cannot open shared object"
	expect none yes
	rm modules/codec-$from.so

	cp "$built/codec-$from.so" modules/
	expect $from yes "lib$from [0-9]+(\.[0-9]+)+$"
	expect none yes
done

# In the build tree nobody has to say where modules are; the command shows them.
list=$("$top_builddir/tests/list-features")
shown=$("$spillway" version --features)
for from in lz4 zstd brotli deflate lzma; do
	state=no
	[ ! -e "$built/codec-$from.so" ] || state=yes
	grep -Eq "^codec +$from +$state " <<<"$list" ||
		fail "$from in the build tree is not $state"
	grep -Eq "^codec +$from +$state " <<<"$shown" ||
		fail "version --features does not show $from"
done

[ -e "$built/tiledb.so" ] || exit 0
cp "$built/tiledb.so" modules/

# The file that was named, and no other.
export SPILLWAY_TILEDB_LIB=$scratch/no-such-file.so
expect tiledb no "SPILLWAY_TILEDB_LIB: $(literally "$SPILLWAY_TILEDB_LIB") not found$"
export SPILLWAY_TILEDB_LIB=$built/module-old.so
expect tiledb no 'module-old.so has no tiledb_version$'
unset SPILLWAY_TILEDB_LIB

# What lies on the loader's path would come before what follows.
list=$("$top_builddir/tests/list-features" modules)
! grep -q 'tiledb  *yes' <<<"$list" || exit 0
expect tiledb no "libtiledb.so not found \(tried the loader's path, \
$(literally "$XDG_CACHE_HOME")/spillway/lib, modules\)$"
grep -q '^ *hint: tools/tiledb-library' <<<"$list" || fail "no hint"
mkdir -p "$XDG_CACHE_HOME/spillway/lib"
echo 'a download under way' >"$XDG_CACHE_HOME/spillway/lib/libtiledb.so.2.30.x"
expect tiledb no 'libtiledb.so not found'
cp "$built/module-old.so" "$XDG_CACHE_HOME/spillway/lib/libtiledb-1.so.2.9"
expect tiledb no 'lib/libtiledb-1.so.2.9 has no tiledb_version$'
echo 'damaged' >"$XDG_CACHE_HOME/spillway/lib/libtiledb-0.so.2.30"
expect tiledb no 'lib/libtiledb-0.so.2.30: (invalid ELF|file too short)'
