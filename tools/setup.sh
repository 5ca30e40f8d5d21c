# SPDX-License-Identifier: BSD-3-Clause
# setup.sh -- what quickstart and check share: packages, configure, make
#
# Sourced by bash scripts in the top directory of the source.  Everything runs through
# relative names, since make cannot cope with a blank in a name and the tree
# may lie anywhere.

. tools/packages

say()
{
	printf '%s: %s\n' "${0##*/}" "$*"
}

die()
{
	say "$@" >&2
	exit 1
}

is_installed()
{
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Print the packages of the lists that are not there.
missing_packages()
{
	local entry name there

	for entry in $*; do
		there=no
		for name in ${entry//|/ }; do
			! is_installed "$name" || there=yes
		done
		[ $there = yes ] || echo "${entry%%|*}"
	done
}

# Set as_root to what makes a command run as root; fail if nothing does.
find_root()
{
	as_root=()
	[ "$(id -u)" != 0 ] || return 0
	command -v sudo >/dev/null || return 1
	as_root=(sudo)
	sudo -n true 2>/dev/null || [ -t 0 ]
}

apt_get()
{
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
		apt-get -q -y -o DPkg::Lock::Timeout=300 "$@"
}

apt_knows()
{
	local name

	for name in "$@"; do
		apt-cache show --no-all-versions "$name" >/dev/null 2>&1 ||
			return 1
	done
}

apt_install()
{
	if ! apt_knows "$@"; then
		say "reading the package lists"
		apt_get update || return 1
		apt_get install --no-install-recommends "$@"
		return
	fi
	apt_get install --no-install-recommends "$@" && return
	say "trying again with fresh package lists"
	apt_get update && apt_get install --no-install-recommends "$@"
}

# install_missing LIST...: make sure that the packages are there.
install_missing()
{
	local missing log=build/packages.log

	if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null
	then
		say "not a Debian system; install the equivalents of" $*
		return 0
	fi
	missing=$(missing_packages "$@")
	[ -n "$missing" ] || return 0
	find_root || die "packages are missing, and only root may install" \
		"them.  Ask the administrator to run:" \
		"apt-get install --no-install-recommends" $missing
	say "installing" $missing
	mkdir -p build
	apt_install $missing >"$log" 2>&1 </dev/null || {
		tail -n 20 "$log" >&2
		die "apt-get failed; all it said is in $log"
	}
}

# configure_build FLAG...: make ./build ready; nothing to do the second time.
# Without flags, a build configured in any way is taken as it is.
configure_build()
{
	local flags="$*" log=build/configure.log built=no

	mkdir -p build
	if [ ! -f configure ]; then
		say "autoreconf"
		autoreconf -i >"$log" 2>&1 || {
			cat "$log" >&2
			die "autoreconf failed"
		}
	fi
	if [ -f build/config.status ] && { [ -z "$flags" ] ||
	    [ "$(cat build/configured-with 2>/dev/null)" = "$flags" ]; }
	then
		return 0
	fi
	[ ! -f build/config.status ] || built=yes
	say configure "$@"
	(cd build && ../configure "$@") >"$log" 2>&1 </dev/null || {
		grep 'error:' "$log" >&2 || tail -n 20 "$log" >&2
		die "configure failed; all it said is in $log"
	}
	# make does not know which flags its objects were made with.
	[ $built = no ] || build clean
	echo "$flags" >build/configured-with
}

# build TARGET...
build()
{
	local log=build/make.log

	make -C build -j"$(nproc)" "$@" >"$log" 2>&1 </dev/null || {
		tail -n 40 "$log" >&2
		die "make $* failed; all it said is in $log"
	}
}
