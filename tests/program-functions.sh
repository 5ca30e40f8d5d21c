# SPDX-License-Identifier: BSD-3-Clause
# program-functions.sh -- whole programs, as they are and under Spillway

# twins CMD...: the command in the directory plain/ as it is, in spilled/
# under Spillway. Both must succeed and say the same, and what was written
# must be home. Input, if any, comes from the file named by $input. Helpers of
# the program may outlive it for a moment if $stragglers says so.
input=/dev/null
stragglers=no
twins()
{
	mkdir -p plain spilled
	(cd plain && plain "$@") <"$input" >plain.out 2>plain.err || {
		tail -n 20 plain.out plain.err >&2
		fail "does not work without Spillway either: $*"
	}
	(cd spilled && spilled "$@") <"$input" >spilled.out 2>spilled.err || {
		tail -n 20 spilled.out spilled.err >&2
		fail "does not work under Spillway: $*"
	}
	[ $stragglers = no ] ||
		sed -i '/^spillway: processes of job .* live on/d' spilled.err
	diff -u plain.out spilled.out >&2 || fail "other output: $*"
	diff -u plain.err spilled.err >&2 || fail "other messages: $*"
	counter_is bytes_undrained 0
}

# inventory DIR FORMAT: what lies there, by the format of find.
inventory()
{
	(cd "$1" && find . -printf "$2\n" | LC_ALL=C sort)
}

# same_trees [A B]: the same names with the same bytes, sizes, modes, link
# counts and targets in both directories.
same_trees()
{
	local a=${1-plain} b=${2-spilled}
	local format='%P %y %m %n %l'

	diff -u <(inventory "$a" "$format") <(inventory "$b" "$format") >&2 ||
		fail "$a and $b list different files"
	diff -u <(cd "$a" && find . -type f -printf '%P %s\n' | sort) \
		<(cd "$b" && find . -type f -printf '%P %s\n' | sort) >&2 ||
		fail "$a and $b list different sizes"
	diff -r "$a" "$b" >&2 || fail "$a and $b differ"
}

# same_times NAME...: these files and all below have the same mtimes in
# plain/ and spilled/.
same_times()
{
	local name

	for name; do
		diff -u <(cd plain && find "$name" -printf '%p %T@\n' | sort) \
			<(cd spilled && find "$name" -printf '%p %T@\n' |
			  sort) >&2 || fail "$name: other times"
	done
}

# bypassed REASON: the receipt names it.
bypassed()
{
	grep -q '"'"$1"'": *[1-9]' "$receipt" || {
		cat "$receipt" >&2
		fail "no file left with the reason $1"
	}
}

# is_long: the long form of the tests is wanted.
is_long()
{
	[ "${SPILLWAY_CHECK_LONG-0}" != 0 ]
}
