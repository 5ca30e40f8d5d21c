#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# powercut-chance.sh -- what was not synced may be old, new or torn, and
# nothing else

. tests/functions.sh

recording=$scratch/recording
letters() { head -c "$2" /dev/zero | tr '\0' "$1"; }

recorded_mount "$recording"
cd "$scratch/slow"
letters A 4096 >page
letters A 4096 >grown
letters A 8192 >shrunk
echo old >from
echo old >kept
sync page grown shrunk from kept .
letters B 4096 | dd of=page bs=4096 conv=notrunc status=none
letters B 4096 >>grown
truncate -s 100 shrunk
letters B 200 >>shrunk
mv from to
echo new >new
cd ..
slow_unmount
point=$(cut_points "$recording" | tail -n 1)

# Each sector of 512 bytes is of one letter; `sort -u` of them says which.
sectors() { fold -w 512 "$1" | tr '\0' 0 | sort -u | cut -c 1; }

for seed in {0..60}; do
	power_cut "$recording" "$point" $seed
	echo "page $(sectors cut/page | tr -d '\n')"
	[ "$(stat -c %s cut/page)" = 4096 ] || fail "$seed: size of page"
	echo "grown $(stat -c %s cut/grown)" \
		"$(tail -c +4097 cut/grown | sectors - | tr -d '\n')"
	[ "$(head -c 4096 cut/grown | sectors -)" = A ] ||
		fail "$seed: grown lost what was synced"
	echo "shrunk $(stat -c %s cut/shrunk)"
	[ -e cut/new ] && echo "new $(stat -c %s cut/new)" || echo "new no"
	[ -e cut/from ] && echo 'from yes' || echo 'from no'
	[ "$(cat cut/to cut/from 2>/dev/null)" = old ] ||
		fail "$seed: a rename in two"
	[ "$(cat cut/kept)" = old ] || fail "$seed: kept was not kept"
	# Once cut off, the old letters are gone for good.
	[ "$(stat -c %s cut/shrunk)" = 8192 ] ||
		[ "$(tail -c +101 cut/shrunk | tr -d 'B\0' | wc -c)" = 0 ] ||
		fail "$seed: what was cut off is back"
done | sort -u >seen

cat >expected <<'END'
from no
from yes
grown 4096 
grown 8192 0
grown 8192 0B
grown 8192 B
new 0
new 4
new no
page A
page AB
page B
shrunk 100
shrunk 300
shrunk 8192
END
diff -u expected seen
