#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# source-shape.sh -- files say what they are, scripts parse, nothing strays

. tests/functions.sh

cd "$top_srcdir"
bad=0
complain()
{
	echo "$*"
	bad=1
}

rooms="shm interpose hdf5-hooks tiers planner tools tests"

# The files of the project: what git follows, or all of a release.
if [ -e .git ] && git rev-parse >/dev/null 2>&1; then
	files() { git ls-files -co --exclude-standard -- "$@"; }

	allowed=" .ci .gitignore LICENSE Makefile.am README build-aux
		configure.ac m4 $rooms "
	for name in $(files | cut -d / -f 1 | sort -u); do
		[[ $allowed =~ [[:space:]]"$name"[[:space:]] ]] ||
			complain "$name does not belong at the top level"
	done
else
	files() { find "$@" -type f ! -path '*/.*' 2>/dev/null; }
fi

is_script()
{
	[[ $(head -c 2 "$1" | tr -d '\0') = '#!' ]]
}

while IFS= read -r file; do
	base=${file##*/}
	case $file in
	*.[ch])
		sed -n 1p "$file" | grep -qx \
			'/\* SPDX-License-Identifier: BSD-3-Clause \*/' ||
			complain "$file: no licence tag in line 1"
		sed -n 2p "$file" | grep -qF "/* $base -- " ||
			complain "$file: line 2 does not say its purpose"
		;;
	*/corpus/*)
		continue
		;;
	*)
		if is_script "$file" && [[ $file != *.py ]]; then
			bash -n "$file" || complain "$file: does not parse"
		fi
		case $file in
		*.sh|*.sh.in|*.mk|*.am|*.ac|tools/packages)
			;;
		*)
			is_script "$file" || continue
			;;
		esac
		head -n 3 "$file" | grep -qx \
			'# SPDX-License-Identifier: BSD-3-Clause' ||
			complain "$file: no licence tag at the top"
		head -n 4 "$file" | grep -q "^# ${base%.in} -- " ||
			complain "$file: does not say its purpose at the top"
		;;
	esac
done < <(files $rooms m4 configure.ac Makefile.am .ci)

# Paths of the machine that someone happened to work on.
while IFS= read -r file; do
	grep -HnE '(^|[^[:alnum:]$}~.])/(root|work|home/[a-z])' "$file" &&
		complain "$file: names a directory of one machine"
done < <(files $rooms m4 configure.ac Makefile.am README .ci)

# A blank separates tiers: a directory's name is written by `place`.
grep -nE '(ram@[0-9]+M |tiers ")(nvme|pmem|bb):\$\{?(scratch|shm_dir|PWD|here)' \
	tests/*.sh &&
	complain "a tier's directory may have a blank in its name"

exit $bad
