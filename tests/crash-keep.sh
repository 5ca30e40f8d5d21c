#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# crash-keep.sh -- death at every point of keeping files and bringing them home

. tests/functions.sh
requires_disk
unset SPILLWAY_JOB

mkdir "$scratch/disk"
tiers="ram@16M nvme:$(place "$scratch/disk")@64M"
head -c 300000 /dev/urandom >"$scratch/data"
write_all='dd if="$0" of=a bs=100000 status=none; chmod 640 a
	dd if="$0" of=b bs=1000 count=5 seek=9 status=none
	dd if="$0" of=c bs=70000 status=none; truncate -s 100001 c'
mkdir "$scratch/plain"
(cd "$scratch/plain" && sh -c "$write_all" "$scratch/data")

points()
{
	cat "${@/#/$top_srcdir/planner/}" |
		grep -o 'SPW_FAILPOINT("[a-z-]*"' | cut -d '"' -f 2
}

# killed POINT COMMAND...: false when it does not come by there.
killed()
{
	local status=0

	{ SPILLWAY_FAILPOINT=$1 "${@:2}" >out 2>err || status=$?; } 2>/dev/null
	[ $status = 137 ] || [ $status = 0 ] || fail "$1: $status: $(cat err)"
	[ $status = 137 ]
}

keep()
{
	"$spillway" run --at-exit keep --job keep --tiers "$tiers" -- \
		sh -c "$write_all" "$scratch/data"
}

all_plain()
{
	for file in a b c; do
		same_bytes $file "$scratch/plain/$file"
		same_stat $file "$scratch/plain/$file"
	done
	[ -z "$(ls "$scratch/disk")" ] || fail "$1: $(find "$scratch/disk")"
	! compgen -G "$shm_dir/spillway.*/*.seg" >/dev/null ||
		fail "$1: segments are left"
	rm a b c
}

if ! killed keep-made:1 keep; then
	skip "needs: --enable-failpoints"
fi
"$spillway" recover -y --tiers "$tiers" >out 2>&1 || fail "$(cat out)"
"$spillway" stage out . >out
all_plain first
passed=0

# With the segment at hand all is brought home; without, what is a stub is
# kept, and what is not is recovered.
for point in $(points keep.c stub.c | grep -v stub-plain); do
	for n in 1 3; do
		for boot in no yes; do
			if ! killed $point:$n keep; then
				"$spillway" stage out . >out
				all_plain $point:$n
				continue
			fi
			passed=$((passed + 1))
			[ $boot = no ] || rm "$shm_dir"/spillway.*/*.seg
			"$spillway" recover -y --tiers "$tiers" >out 2>&1 ||
				fail "$point:$n: $(cat out)"
			[ $boot = yes ] || grep -q 'recovered' out ||
				fail "$point:$n: $(cat out)"
			"$spillway" stage out . >out
			all_plain $point:$n
		done
	done
done
[ $passed -ge 10 ] || fail "keeping came by $passed points"

# A second try finishes what the first began; recover does no harm.
passed=0
for point in $(points stageout.c stub.c) replay-applied replay-dropped; do
	for n in 1 2; do
		keep 2>/dev/null
		! killed $point:$n "$spillway" stage out . ||
			passed=$((passed + 1))
		"$spillway" recover -y --tiers "$tiers" >out 2>&1 ||
			fail "$point:$n: $(cat out)"
		"$spillway" stage out . >out 2>err ||
			fail "$point:$n: $(cat err)"
		all_plain $point:$n
	done
done
[ $passed -ge 10 ] || fail "staging came by $passed points"
