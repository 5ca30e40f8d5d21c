#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# powercut-tree.sh -- a recording holds all that was done: names, bytes, sizes,
# attributes

. tests/functions.sh

recording=$scratch/recording
slow=$scratch/slow
back=$scratch/slow-back
seed=${SPILLWAY_CHECK_SEED:-$(date +%s)}

# All that can be seen of a tree, one line for each name; links by number.
describe()
(
	cd "$1"
	find . ! -name . -printf '%P %y %m %n %l ' \
		\( -type f -printf '%s %T@ ' -exec cksum {} \; -o -printf '\n' \) |
		sort
	find . -type f -links +1 -printf '%i %p\n' | sort -k 2 |
		awk '!($1 in n) { n[$1] = ++i } { print n[$1], $2 }'
)

same_tree()
{
	describe "$1" >"$scratch/one"
	describe "$2" >"$scratch/two"
	[ -s "$scratch/one" ] || fail "nothing in $1"
	diff -u "$scratch/one" "$scratch/two" || fail "$3"
}

# What is there before.
mkdir -p "$back/old/deep"
head -c 300000 /dev/urandom >"$back/old/file"
ln "$back/old/file" "$back/old/deep/link"
ln -s ../file "$back/old/deep/symbolic"
truncate -s 10M "$back/old/sparse"
printf x | dd of="$back/old/sparse" bs=1 seek=5000000 conv=notrunc status=none
chmod 640 "$back/old/sparse"
mkdir "$back/old/closed"
chmod 500 "$back/old/closed"
cp -a "$back" "$scratch/before"

# work MODES OPS: random operations; then all that was done is recorded.
work()
{
	local last

	(cd "$slow" && "$top_builddir/tests/random-ops" --seed "$seed" \
		--ops "$2" --io 16K --modes "$1" data) >"$scratch/ops.out" ||
		fail "seed $seed: $(cat "$scratch/ops.out")"
	last=$("$top_builddir/tests/powercut" points "$recording")
	power_cut "$recording" "$last" 1
	same_tree "$back" "$scratch/cut" "seed $seed: not what was done"
	seed=$((seed + 1))
}

recorded_mount "$recording"
for i in {1..8}; do
	work rw,alloc 150
done
work all,-exec,-bare,-fork 3000
cd "$slow"
mkdir -p a/b c
echo one >a/b/file
mv a/b c/b
ln c/b/file a/link
mv -T c/b c/moved
: >c/first
echo second >c/second
mv c/first c/second
echo longer >c/shorter
echo s >c/shorter
ln -s nowhere c/symbolic
mkfifo c/fifo
echo gone >gone
rm gone
rmdir old/closed
rm -r old/deep
chmod 600 a/link
touch -d '2001-02-03 04:05:06.789 UTC' c/moved/file
cd ..
last=$("$top_builddir/tests/powercut" points "$recording")
[ "$last" -gt 1000 ] || fail "only $last cut points"

# All of it done: as it is.  Nothing done: as it was.
power_cut "$recording" "$last" 1
same_tree "$back" cut "seed $seed: not what was done"
for cut_seed in 0 1 2; do
	power_cut "$recording" 0 $cut_seed
	same_tree before cut "not what was there before"
done

# All of it synced: as it is, whatever the seed.
find "$slow" -type d -o -type f | xargs -d '\n' sync
last=$("$top_builddir/tests/powercut" points "$recording")
for cut_seed in 0 1 2 3; do
	power_cut "$recording" "$last" $cut_seed
	same_tree "$back" cut "seed $seed, $cut_seed: lost what was synced"
done
slow_unmount

# Anywhere, there is some tree; and the same one again.
for point in $(cut_points "$recording" 40); do
	power_cut "$recording" "$point" 7
	describe cut >once
	power_cut "$recording" "$point" 7
	describe cut >twice
	diff -u once twice || fail "seed $seed, point $point: two results"
done
fails_with 1 "$top_builddir/tests/powercut" cut "$recording" 0 0 cut 2>err
grep -q 'not empty' err || fail "filled a directory twice"
