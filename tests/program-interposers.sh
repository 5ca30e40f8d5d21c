#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# program-interposers.sh -- allocators and other preloaded libraries, before us
# and after us

. tests/functions.sh
. "$srcdir/program-functions.sh"
requires dd --version
requires python3 --version
requires_file "$preload" "the library is not built"

cat >script <<'SCRIPT'
dd if=/dev/urandom of=r bs=1000 count=1 status=none
dd if=/dev/zero of=a bs=3000 count=100 status=none
seq 20000 | tee b >c
sort -r b -o d
sort -S 50k -T . c -o e
cp a f
cat a b >>f
python3 -c 'import mmap
with open("f", "r+b") as f:
	mmap.mmap(f.fileno(), 0)[7] = 7'
rm r
SCRIPT
mkdir plain
(cd plain && bash ../script)

# with LIST: the script under both libraries, in the order given.
with()
{
	rm -rf spilled
	mkdir spilled
	(cd spilled && spilled env LD_PRELOAD="$1" bash ../script) 2>err || {
		cat err >&2
		fail "failed with LD_PRELOAD=$1"
	}
	[ ! -s err ] || { cat err >&2; fail "messages with LD_PRELOAD=$1"; }
	counter_above bytes_absorbed 400000
	counter_is bytes_undrained 0
	same_trees
}

both_ways()
{
	with "$1:$preload"
	with "$preload:$1"
}

other=$built/.libs/program-interposer.so
requires_file "$other" "the other library is not built"
export INTERPOSER_OUT=$scratch/interposer.out
both_ways "$other"
grep -q 'opens some writes some' "$INTERPOSER_OUT" ||
	fail "the other library saw nothing"
unset INTERPOSER_OUT
INTERPOSER_BY_NUMBER=1 both_ways "$other"

# An allocator starts before everybody, and reads files while it does.
found=0
for name in libjemalloc.so.2 libtcmalloc_minimal.so.4; do
	path=$(ls /usr/lib/*/$name /usr/lib64/$name /usr/lib/$name \
	       /usr/local/lib/$name 2>/dev/null | head -n 1 || :)
	[ -n "$path" ] || continue
	found=$((found + 1))
	both_ways "$path"
done
[ $found = 2 ] || skip "needs: libjemalloc and libtcmalloc-minimal"
