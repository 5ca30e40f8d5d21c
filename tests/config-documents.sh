#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# config-documents.sh -- every setting, kind and code has its place in a page

. tests/functions.sh

cd "$top_srcdir"
bad=0

# same WHAT SOURCE PAGE: two lists of names.
same()
{
	[ -n "$2" ] || fail "$1: none found in the source"
	diff <(sort -u <<<"$2") <(sort -u <<<"$3") >"$scratch/diff" && return
	echo "$1: in the source (<) and in the page (>)"
	cat "$scratch/diff"
	bad=1
}

items()
{
	sed -n 's/^=item B<\([^>]*\)>.*/\1/p' "$1"
}

settings=$(sed -n 's/^	O([A-Z_]*, "\([a-z-]*\)".*/\1/p' shm/options.h)
same settings "$settings" \
	"$(sed '1,/^=head1 SETTINGS/d' tools/spillway.conf.pod |
	items /dev/stdin)"
same "settings of the sample" "$(grep -vx config <<<"$settings")" \
	"$(sed -n 's/^#\([a-z-]*\) =.*/\1/p' tools/spillway.conf.sample)"

kinds=$(sed -n '/spw_tierkinds\[/,/^};/s/.*= { "\([a-z0-9]*\)",.*/\1/p' \
	shm/tierspec.c)
same kinds "$kinds" "$(sed -n '/^=head1 KINDS/,/^=head1 PLACES/p' \
	tools/spillway-tiers.pod | items /dev/stdin)"

# Of each codec: name, number, levels.
codecs=$(sed -n 's/^	X([A-Z0-9]*, \([0-9]*\), "\([a-z0-9]*\)", \([-0-9]*\),'\
' \([-0-9]*\)).*/\2 \1 \3 to \4/p' shm/codecs.h)
same codecs "$codecs" "$(sed '/^=head1 PREFILTERS/,$d' \
	tiers/spillway-codecs.pod | sed -n 's/^ \([a-z0-9]*\)  *\([0-9]*\)  *'\
'\([-0-9]* to [-0-9]*\) .*/\1 \2 \3/p')"

same prefilters "$(sed -n 's/^	\[SPW_FILTER_[A-Z_]*\] = { "\([^"]*\)".*/\1/p' \
	tiers/filter.c)" "$(sed -n '/^=head1 PREFILTERS/,/^=head1 MODULES/s/'\
'^ \([a-z+-]*\)  *[0-9][0-9]* .*/\1/p' tiers/spillway-codecs.pod)"

options=$(cut -d ' ' -f 1 <<<"$codecs"
	sed -n 's/^	\[SPW_PIN_RAW\] = { "\([a-z]*\)",.*/\1/p
	/key_names\[/,/^};/s/.*= "\(.*\)",/\1/p' shm/tieropts.c)
same "options of tiers" "$options" "$(sed -n \
	'/^=head1 OPTIONS/,/^=head2/p' tools/spillway-tiers.pod |
	items /dev/stdin | sed 's/=$//')"

# Codes stand in the source as SPW_E101 or "E101".
codes=$(grep -rhoE --include='*.[ch]' '\<(SPW_)?[EW]1[0-9][0-9]\>' \
	shm interpose hdf5-hooks tiers planner tools | sed 's/^SPW_//')
same codes "$codes" "$(items tools/spillway-errors.pod)"

# A code that nobody uses would document what does not happen.
for code in $(items tools/spillway-errors.pod); do
	grep -rqE --include='*.c' "\<(SPW_)?$code\>" \
		shm interpose hdf5-hooks tiers planner tools ||
		{ echo "$code is never used"; bad=1; }
done

# The sample is accepted, also with its comment signs taken off.
sed 's/^#\([a-z-]* =\)/\1/' tools/spillway.conf.sample >"$scratch/all.conf"
chmod 644 "$scratch/all.conf"
HOME=$scratch "$spillway" config --strict --config "$scratch/all.conf" \
	>"$scratch/out" || fail "the sample file is refused"
exit $bad
