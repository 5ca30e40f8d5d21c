# SPDX-License-Identifier: BSD-3-Clause
# spillway.bash -- completion for bash
#
# Asks the command itself, so it knows what this release knows: `spillway
# --help` lists the commands on lines indented by two blanks, and `spillway
# COMMAND --help` names the options.

_spillway_words()
{
	if [ -z "$1" ]; then
		spillway --help | sed -n 's/^  \([a-z][a-z-]*\).*/\1/p'
		spillway --help
	else
		spillway "$1" --help
	fi 2>/dev/null </dev/null | sed 's/^  [a-z].*/&/' |
		grep -oE -- '^[a-z][a-z-]*$|--[a-z][a-z-]*' | sort -u
}

_spillway()
{
	local cur=${COMP_WORDS[COMP_CWORD]} command= i

	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--)	# the user's own program, with its own completion
			_command_offset $((i + 1))
			return ;;
		-*)	;;
		*)	command=${command:-${COMP_WORDS[i]}} ;;
		esac
	done
	COMPREPLY=($(compgen -W "$(_spillway_words "$command")" -- "$cur"))
	[ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$cur"))
}

complete -o filenames -F _spillway spillway
