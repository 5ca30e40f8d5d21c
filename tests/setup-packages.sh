#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# setup-packages.sh -- set-up installs what is missing, or says whom to ask

. tests/functions.sh

# A machine made of scripts: packages in `have`, known to apt in `known`, the
# user in `uid`; what would be changed is noted in `calls`.
mkdir -p bin tools
cp "$top_srcdir/tools/setup.sh" "$top_srcdir/tools/packages" tools
fake()
{
	cat >"bin/$1"
	chmod +x "bin/$1"
}
fake dpkg-query <<'END'
#!/bin/sh
for name; do :; done
grep -qx -- "$name" have && echo installed
END
fake apt-cache <<'END'
#!/bin/sh
for name; do :; done
grep -qx -- "$name" known
END
fake apt-get <<'END'
#!/bin/sh
echo "$*" | sed 's/.*Timeout=[0-9]* //' >>calls
case $* in
*update*) cat have wanted >known ;;
*install*) [ ! -e broken ] || { rm broken; exit 100; } ;;
esac
END
fake id <<'END'
#!/bin/sh
cat uid
END
printf '%s\n' b c2 >have
printf '%s\n' a b c d >wanted
install=". tools/setup.sh; install_missing 'a b c|c2' d"

try()
{
	: >calls
	PATH=$PWD/bin:/usr/bin:/bin bash -c "$install" try >out 2>&1 </dev/null
}

# Root, with lists that know the packages.
echo 0 >uid
cat have wanted >known
try || fail "could not install"
[ "$(cat calls)" = 'install --no-install-recommends a d' ] || fail "$(cat calls)"
grep -q 'installing a d' out || fail "did not say what it does"

# Lists are read only if they do not know a package, or if a download failed.
: >known
try || fail "could not install with fresh lists"
[ "$(head -n 1 calls)" = update ] || fail "lists were not read"
: >broken
try || fail "did not try again"
[ "$(wc -l <calls)" = 3 ] || fail "expected install, update, install"

# A user without sudo is told the command; with all there, nothing is needed.
echo 1000 >uid
fake sudo <<'END'
#!/bin/sh
exit 1
END
fails_with 1 try
grep -q 'apt-get install --no-install-recommends a d$' out || fail "$(cat out)"
[ ! -s calls ] || fail "apt-get was called by a user"
printf '%s\n' a b c d >have
try || fail "needs something though all is there"
[ ! -s calls ] || fail "apt-get was called for nothing"

# With sudo.
printf '%s\n' b c >have
fake sudo <<'END'
#!/bin/sh
echo sudo >>calls
[ "$1" != -n ] || shift
exec "$@"
END
try || fail "could not install with sudo"
grep -q 'install --no-install-recommends a d' calls || fail "$(cat calls)"
