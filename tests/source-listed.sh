#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# source-listed.sh -- every file is in its folder's list, so it is built, run
# and released

. tests/functions.sh

cd "$top_srcdir"
[ -e .git ] && git rev-parse >/dev/null 2>&1 ||
	cannot "not a clone: nothing tells what the project's files are"

bad=0
for room in shm interpose hdf5-hooks tiers planner tools tests; do
	# Words of the list; a program stands for its .c, a page for its .pod.
	words=" $(sed 's/#.*//; s/\\$//' $room/local.mk | tr '\n\t' '  ') "
	while IFS= read -r file; do
		stem=${file%.*}
		case $file in
		*/local.mk|*.in|tests/corpus/*)
			continue ;;
		*.c)
			[[ $words != *" $stem "* ]] || continue ;;
		*.pod)
			[[ $words != *" $stem".[1357]" "* ]] || continue ;;
		esac
		[[ $words != *" $file "* ]] || continue
		echo "$file is not in $room/local.mk"
		bad=1
	done < <(git ls-files -- $room)
done
for corpus in tests/corpus/*/; do
	[ -d "$corpus" ] || continue
	grep -q "[[:space:]]${corpus%/}\([[:space:]]\|$\)" tests/local.mk ||
		{ echo "${corpus%/} is not in tests/local.mk"; bad=1; }
done
exit $bad
