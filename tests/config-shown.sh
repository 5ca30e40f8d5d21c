#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# config-shown.sh -- spillway config shows each value and where it came from

. tests/functions.sh

unset SPILLWAY_JOB SPILLWAY_SHM_DIR

# shown NAME: the line of a setting, blanks squeezed.
shown()
{
	sed -n "s/^$1  *//p" out | tr -s ' '
}

is()
{
	[ "$(shown "$1")" = "$2" ] || fail "$1: '$(shown "$1")', not '$2'"
}

mkdir -p "$XDG_CONFIG_HOME/spillway" data
user=$XDG_CONFIG_HOME/spillway/spillway.conf
printf 'job = user\ncolor = never\nverbose = 1\nexclude = /x\n' >"$user"
printf '\ncolor = always # comment\nverbose = 2\n' >named.conf
chmod 644 "$user" named.conf
SPILLWAY_CONFIG=$PWD/named.conf SPILLWAY_VERBOSE=0 SPILLWAY_DRAIN_DELAY=1.5s \
	"$spillway" config --quiet --include data --include /y:/z >out
is job "user $user:1"
is color "always $PWD/named.conf:2"
is verbose "0 SPILLWAY_VERBOSE"
is quiet "yes --quiet"
is include "$PWD/data:/y:/z --include"
is exclude "/x $user:4"
is drain-delay "1500ms (1500000000 ns) SPILLWAY_DRAIN_DELAY"
is config "$PWD/named.conf SPILLWAY_CONFIG"
is drainer "auto built-in"
is shm-dir "/dev/shm built-in"
grep -q '^ram .* (1048576 bytes)' <("$spillway" config --tiers ram@1M) ||
	fail "the capacity is not shown in bytes"

# Every setting is there, once.
"$spillway" config >out
for name in $(sed -n 's/^	O([A-Z_]*, "\([a-z-]*\)".*/\1/p' \
	"$top_srcdir/shm/options.h"); do
	[ "$(grep -c "^$name " out)" = 1 ] || fail "$name is not shown"
done

# Nothing but JSON on standard output.
SPILLWAY_NONSENSE=1 "$spillway" config --json --tiers ram@1M \
	--job 'a.b' >out.json 2>/dev/null
grep -q '"job": {"value": "a.b", "from": "flag"}' out.json ||
	fail "a setting is missing in JSON"
grep -q '"kind": "ram", "place": "/dev/shm", "capacity": 1048576' out.json ||
	fail "a tier is missing in JSON"
mkdir $'odd "\\\x01\xff'
if type python3 >/dev/null 2>&1; then
	"$spillway" config --json --include $'odd "\\\x01\xff' |
		python3 -c 'import json, sys
j = json.load(sys.stdin)
assert j["settings"]["verbose"]["line"] == 3, j
assert len(j["settings"]["include"]["value"]) == 1, j
assert j["tiers"][0]["capacity"] > 0, j'
fi

# Help has a line for each.
"$spillway" config --help >out
for name in $(sed -n 's/^	O([A-Z_]*, "\([a-z-]*\)".*/\1/p' \
	"$top_srcdir/shm/options.h"); do
	grep -q "^  --$name[[ ]" out || fail "--$name is not in the help"
done
[ "$(awk 'length > 80' out)" = "" ] || fail "the help is too wide"

# It takes no operands.
fails_with 2 "$spillway" config operand 2>/dev/null
