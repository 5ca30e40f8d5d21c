#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# program-thread.sh -- shells and sort with the drainer as a thread in each of
# them

. tests/functions.sh
. "$srcdir/program-functions.sh"
without_sanitizer thread "its library would come late, with the drainer"
requires_file "$preload" "the library is not built"

seq 30000 | sort -R --random-source=<(yes) >numbers

# The shell's own descriptors lie where the drainer's first would be.
cat >descriptors <<'SCRIPT'
echo dirty >a
cat a a >b
exec 3>c 4<b 5>>b
echo one >&3
read -r line <&4
(echo "two $line"; /bin/echo three) >&3
cat <&4 >&3
echo four >&5
(echo five >&3)
exec 3>&- 4<&- 5>&-
for i in 1 2 3 4 5; do echo $i; done >d
while read -r line; do echo "<$line>"; done <d >e
SCRIPT

# Temporary files, removed while their bytes are in memory.
cat >temporaries <<'SCRIPT'
set -e
for i in 1 2 3; do
	sort -S 100k -T . --compress-program=gzip ../numbers -o a$i
	sort -S 100k -T . -r a$i -o b$i
	cat a$i b$i >c$i
	cp c$i d$i
	tac d$i >e$i
done
SCRIPT

bare()
{
	SPILLWAY_DRAINER=thread SPILLWAY_INCLUDE=$PWD \
		env LD_PRELOAD="$preload" "$@"
}

for script in descriptors temporaries; do
	for shell in bash dash; do
		command -v $shell >/dev/null || continue
		rm -rf plain spilled
		mkdir plain spilled
		(cd plain && plain $shell ../$script)
		(cd spilled && bare timeout 120 $shell ../$script) 2>err ||
			{ cat err >&2; fail "$script in $shell failed"; }
		[ ! -s err ] || { cat err >&2; fail "$shell: messages"; }
		same_trees
	done
done

# A program that ends with its last thread does not wait for ours, and opens
# files after its first one has ended.
mkdir last
(cd last && bare timeout 60 "$top_builddir/tests/thread-forms" first-ends) \
	>out 2>err
grep -qx 'the last one' out || fail "what the last thread printed is gone"
[ "$(cat last/last)" = last ] || fail "what the last thread wrote is gone"
[ ! -s err ] || { cat err >&2; fail "the last thread: messages"; }
