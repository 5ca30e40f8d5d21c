# SPDX-License-Identifier: BSD-3-Clause
# spillway.bash -- completion for bash
#
# Asks the command itself, so it knows what this release knows: --help lists
# the commands on lines indented by two blanks, and COMMAND --help names the
# options of one.

_spillway_words()
{
	local program=$1 command=$2

	{
		[ -n "$command" ] || "$program" --help |
			sed -n 's/^  \([a-z][a-z-]*\).*/\1/p'
		"$program" $command --help | grep -oE -- '--[a-z][a-z-]*'
	} 2>/dev/null </dev/null | sort -u
}

# The user's own program after --: its own completion, if there is one.
_spillway_program()
{
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	else
		COMPREPLY=($(compgen -cf -- "${COMP_WORDS[COMP_CWORD]}"))
	fi
}

_spillway()
{
	local word=${COMP_WORDS[COMP_CWORD]} command= i

	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--)	_spillway_program $((i + 1))
			return ;;
		-*)	;;
		*)	command=${command:-${COMP_WORDS[i]}} ;;
		esac
	done
	COMPREPLY=($(compgen -W \
		"$(_spillway_words "${COMP_WORDS[0]}" "$command")" -- "$word"))
}

complete -o default -F _spillway spillway
