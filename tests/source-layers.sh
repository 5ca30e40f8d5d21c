#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# source-layers.sh -- code calls rightwards only: includes are read back

. tests/functions.sh

# Rooms that the code of a room may include, itself left out.
allowed()
{
	case $1 in
	shm) echo ;;
	interpose) echo shm ;;
	hdf5-hooks) echo interpose shm ;;
	tiers) echo shm ;;
	planner) echo tiers shm ;;
	tools) echo shm tiers planner interpose hdf5-hooks ;;
	tests) echo shm tiers planner interpose hdf5-hooks tools ;;
	esac
}

bad=0
seen=0
for room in shm interpose hdf5-hooks tiers planner tools tests; do
	may=" $room $(allowed $room) "
	while IFS=: read -r file line text; do
		seen=$((seen + 1))
		target=$(sed -n 's/.*"\([^"/]*\)\/.*/\1/p' <<<"$text")
		case $text in
		*'"config.h"'*) continue ;;
		esac
		if [ -z "$target" ]; then
			echo "$file:$line: include without its room: $text"
			bad=1
		elif [[ $may != *" $target "* ]]; then
			echo "$file:$line: $room/ must not know $target/"
			bad=1
		fi
	done < <(cd "$top_srcdir" && find "$room" -name '*.[ch]' -exec \
		grep -Hn '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' {} +)
done
[ $seen -gt 0 ] || fail "no include found"
exit $bad
