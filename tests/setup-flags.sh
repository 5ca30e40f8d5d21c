#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# setup-flags.sh -- set-up builds anew for other flags, and only for them

. tests/functions.sh
mkdir tools
cp "$top_srcdir/tools/setup.sh" "$top_srcdir/tools/packages" tools
cat >configure <<'END'
#!/bin/sh
: >config.status
cat >Makefile <<MAKE
all: object
object:
	echo '$*' >object
clean:
	rm -f object
MAKE
END
chmod +x configure

# made FLAG...: what the object was made with after this set-up.
made()
{
	bash -c '. tools/setup.sh; configure_build "$@"; build all' made "$@" \
		>out </dev/null || fail "$(cat out)"
	cat build/object
}

[ "$(made)" = '' ] || fail "flags from nowhere"
[ "$(made --one)" = --one ] || fail "an object of other flags was kept"
echo kept >build/object
[ "$(made --one)" = kept ] || fail "built again for nothing"
[ "$(made)" = kept ] || fail "no flags take what is there"
[ "$(made --two)" = --two ] || fail "an object of other flags was kept"
