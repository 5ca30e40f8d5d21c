#compdef spillway
# SPDX-License-Identifier: BSD-3-Clause
# spillway.zsh -- completion for zsh; asks the command, as the bash one does

local -a parts
local command word
local -i rest

for word in ${words[2,CURRENT-1]}; do
	if [[ $word == -- ]]; then
		rest=${words[(i)--]}
		shift $rest words
		(( CURRENT -= rest ))
		_normal
		return
	fi
	[[ $word == -* || -n $command ]] || command=$word
done
parts=(${(f)"$($words[1] $command --help 2>/dev/null </dev/null |
	grep -oE -- '--[a-z][a-z-]*' | sort -u)"})
if [[ -z $command ]]; then
	parts+=(${(f)"$($words[1] --help 2>/dev/null </dev/null |
		sed -n 's/^  \([a-z][a-z-]*\).*/\1/p')"})
fi
compadd -a parts || _files
