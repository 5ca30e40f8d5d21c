#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-keep.sh -- files kept in tiers: stubs at home, and the way back

. tests/functions.sh
requires_disk
unset SPILLWAY_JOB
requires python3 --version

mkdir "$scratch/disk" "$scratch/plain"
disk=$(place "$scratch/disk")
tiers="ram@16M nvme:$disk@128M"
head -c 6000000 /dev/urandom >"$scratch/data"

# write_all: files of several shapes, in the working directory.
write_all='
	dd if="$0" of=big bs=100000 status=none; chmod 640 big
	dd if="$0" of=hole bs=1000 count=7 seek=3000 status=none
	dd if="$0" of=tiny bs=3 count=1 status=none; chmod 444 tiny
	dd if="$0" of=cut bs=100000 status=none; truncate -s 70001 cut
	dd if="$0" of=late bs=5000 count=9 status=none; truncate -s 90000 late
	: >empty; mv cut renamed'
(cd "$scratch/plain" && sh -c "$write_all" "$scratch/data")
names='big hole tiny renamed late'
spilled_flags=(--at-exit keep --job keep --tiers "$tiers")

keep()
{
	spilled sh -c "$write_all" "$scratch/data" 2>err
	grep -q 'kept 5 files of .* in tiers, home has stubs' err ||
		fail "$(cat err)"
	counter_is files_kept 5
	counter_is bytes_undrained 0
}

# is_stub FILE: nothing of the data, size and time of the file, no rights.
is_stub()
{
	[ "$(stat -c %s "$1")" = "$(stat -c %s "$scratch/plain/$1")" ] ||
		fail "$1: size of the stub"
	[ "$(stat -c %a "$1")" = 0 ] || fail "$1: mode of the stub"
	[ "$(stat -c %b "$1")" -le 16 ] || fail "$1: the stub is not sparse"
	! cmp -s "$1" "$scratch/plain/$1" || fail "$1: has the data"
	! cmp -s "$1" <(head -c "$(stat -c %s "$1")" /dev/zero) ||
		fail "$1: reads as zeros"
	python3 -c 'import os, sys
words = os.getxattr(sys.argv[1], "user.spillway.kept").decode()
assert "tiers=nvme:" + sys.argv[2] in words, words' "$1" "$disk" ||
		{ [ "$(id -u)" != 0 ] || fail "$1: attribute"; }
}

is_plain()
{
	local file

	for file in ${@:-$names}; do
		same_bytes $file "$scratch/plain/$file"
		same_stat $file "$scratch/plain/$file"
	done
}

nothing_left()
{
	[ -z "$(ls "$scratch/disk")" ] || fail "left: $(find "$scratch/disk")"
	! compgen -G "$shm_dir/spillway.*/*.seg" >/dev/null ||
		fail "segments are left"
}

keep
for file in $names; do
	is_stub $file
done
same_stat empty "$scratch/plain/empty"

# recover knows that they are kept, and clean leaves them alone.
"$spillway" recover -y --tiers "$tiers" >out
grep -q '^keep: 5 files of .* kept in its tiers: spillway stage out$' out ||
	fail "$(cat out)"
"$spillway" recover -y --json --tiers "$tiers" >out
grep -q '"files_kept": 5' out || fail "$(cat out)"
"$spillway" status --tiers "$tiers" >out
grep -q '^keep: 5 files of .* kept in its tiers: spillway stage out$' out ||
	fail "$(cat out)"
"$spillway" clean -y --tiers "$tiers" >out
grep -q 'nothing to clean' out || fail "$(cat out)"
"$spillway" place big >out
grep -q '^big: 5.* MiB, kept in nvme:.* on .*, in [0-9]* objects$' out ||
	fail "$(cat out)"
"$spillway" place --json big | grep -q '"kept"' || fail "place --json"
"$spillway" fsck --tiers "$tiers" >out || fail "$(cat out)"
grep -q ': 0 damaged, 5 files kept there$' out || fail "$(cat out)"
is_stub big

# Shown, then brought home; the second time there is nothing to do.
"$spillway" stage out -n . >out
[ "$(grep -c " in nvme:$disk@" out)" = 5 ] || fail "$(cat out)"
is_stub big
mkdir other
stat -c '%n %y' big hole tiny late >times
mv renamed other/moved
"$spillway" stage out --json . >out
grep -q '"bytes": 9167004' out || fail "$(cat out)"
mv other/moved renamed
is_plain
stat -c '%n %y' big hole tiny late | diff times - || fail "times"
nothing_left
"$spillway" stage out . >out
grep -qx 'nothing is kept there' out || fail "$(cat out)"
rm $names

# A program under Spillway that opens one waits for it.
keep
"$spillway" run -- cat big >out
same_bytes out "$scratch/data"
"$spillway" run -- python3 -c 'import os
fd = os.open("hole", os.O_RDWR)
os.pwrite(fd, b"0123", 3000002)
print(os.fstat(fd).st_size)' >out
[ "$(cat out)" = 3007000 ] || fail "hole: $(cat out)"
printf 0123 | dd of="$scratch/plain/hole" bs=1 seek=3000002 conv=notrunc \
	status=none
same_bytes hole "$scratch/plain/hole"
"$spillway" run -- sh -c 'echo new >renamed'
[ "$(cat renamed)" = new ] || fail "written over: $(cat renamed)"
"$spillway" stage out .
rm -f $names
nothing_left

# Also where somebody gave the stub rights.
(cd "$scratch/plain" && sh -c "$write_all" "$scratch/data")
keep
chmod -R u+rw .
"$spillway" run -- cat big | cmp - "$scratch/data" || fail "read from a stub"
"$spillway" stage out .
is_plain
nothing_left
rm $names

# One that is removed leaves its bytes; clean says how to give them up.
spilled dd if="$scratch/data" of=gone bs=100000 status=none 2>err
"$spillway" clean -n --tiers "$tiers" >out
grep -qx 'nothing to clean' out || fail "$(cat out)"
rm -f gone
"$spillway" clean -y --tiers "$tiers" >out
grep -q '^share keep\..*: 5.7 MiB, .*: spillway clean --force keep$' out ||
	fail "$(cat out)"
"$spillway" clean -n --json --tiers "$tiers" >out
python3 -c 'import json, sys; orphan, = json.load(sys.stdin)["orphans"]
assert orphan["job"] == "keep" and orphan["bytes"] == 6000000, orphan' <out ||
	fail "$(cat out)"
[ -n "$(find "$scratch/disk" -name '*.log')" ] || fail "removed unasked"
"$spillway" clean -y --force --tiers "$tiers" keep >out
nothing_left

# What somebody wrote to is not written over, unless that is asked for.
(cd "$scratch/plain" && sh -c "$write_all" "$scratch/data")
keep
chmod 600 big
printf mine >big
fails_with 5 "$spillway" stage out big late 2>err >out
grep -q 'big: was written to since it was kept' err || fail "$(cat err)"
[ "$(cat big)" = mine ] || fail "written over"
is_plain late
"$spillway" stage out --force .
is_plain
nothing_left
rm $names

# A file of which some is home goes there, with the reason.
cp "$scratch/data" old
spilled_flags+=(-v)
spilled dd if="$scratch/data" of=old bs=1000 count=2 conv=notrunc \
	skip=9 status=none 2>err
grep -q '/old: is not kept, it goes home: some of it is home already *\[W118\]' \
	err || fail "$(cat err)"
cmp old <(dd if="$scratch/data" bs=1000 skip=9 count=2 status=none
	tail -c +2001 "$scratch/data") || fail "old"
[ "$(stat -c %a old)" = 644 ] || fail "old: mode"
nothing_left

# So does one that the kernel wrote.
cat >range.py <<EOF
import os, sys
a, b = os.open(sys.argv[1], os.O_RDONLY), os.open("range", os.O_RDWR | os.O_CREAT)
done = 0
while done < 6000000:
    done += os.copy_file_range(a, b, 6000000 - done)
assert os.lseek(b, 0, os.SEEK_CUR) == done
EOF
spilled python3 range.py "$scratch/data" 2>err
grep -q '/range: is not kept, it goes home: some of it is home already *\[W118\]' \
	err || fail "$(cat err)"
same_bytes range "$scratch/data"
nothing_left

# So do all where no tier survives a reboot, and when tiers are full.
spilled_flags=(--at-exit keep --job keep --tiers ram@16M)
spilled dd if="$scratch/data" of=volatile bs=100000 status=none 2>err
grep -q '/volatile: .* no tier that survives' err || fail "$(cat err)"
same_bytes volatile "$scratch/data"
spilled_flags=(--at-exit keep --job keep --tiers
	"ram@16M nvme:$disk@4M")
spilled dd if="$scratch/data" of=full bs=100000 status=none 2>err
grep -q '/full: .* no room' err || fail "$(cat err)"
same_bytes full "$scratch/data"
nothing_left

# More than fits in memory goes down meanwhile and is kept all the same.
head -c 40000000 /dev/urandom >"$scratch/large"
spilled_flags=(--at-exit keep --job keep --tiers "$tiers")
spilled dd if="$scratch/large" of=large bs=1000000 status=none 2>err
counter_is files_kept 1
counter_is bytes_home 0
"$spillway" stage out large
same_bytes large "$scratch/large"
nothing_left

# A file that somebody else has open goes home.
exec 9>>open
spilled dd if="$scratch/data" of=open bs=100000 conv=notrunc status=none 2>err
exec 9>&-
grep -q '/open: .* somebody needs it there' err || fail "$(cat err)"
same_bytes open "$scratch/data"
nothing_left

# A link that is named leads to it.
spilled_flags=(--at-exit keep --job keep --tiers "$tiers")
spilled dd if="$scratch/data" of=linked bs=100000 status=none 2>err
ln -s linked link
"$spillway" stage out link >out
grep -q 'brought home 1 file' out || fail "link: $(cat out)"
same_bytes linked "$scratch/data"
nothing_left
rm link linked

# With the bare preload, it is the agent that keeps them.
LD_PRELOAD=$preload SPILLWAY_AT_EXIT=keep SPILLWAY_JOB=bare \
	SPILLWAY_TIERS=$tiers SPILLWAY_INCLUDE=$PWD \
	dd if="$scratch/data" of=bare bs=100000 status=none
for ((i = 0; i < 200; i++)); do
	[ -e "$shm_dir/spillway.$(id -u)/bare.seg" ] || break
	sleep 0.05
done
[ $i -lt 200 ] || fail "the agent does not leave"
cp "$scratch/data" "$scratch/plain/bare"
is_stub bare
"$spillway" stage out bare
same_bytes bare "$scratch/data"
nothing_left

# Bytes that are gone or damaged are not replaced by zeros.
spilled_flags=(--at-exit keep --job keep --tiers "$tiers")
spilled dd if="$scratch/data" of=lost bs=100000 status=none 2>err
mv "$scratch/disk" "$scratch/away"
fails_with 4 "$spillway" stage out lost 2>err >out
grep -q "lost: no share in nvme:$disk.*\[W119\]" err || fail "$(cat err)"
mv "$scratch/away" "$scratch/disk"
log=$(find "$scratch/disk" -name '*.log' | head -n 1)
printf x | dd of="$log" bs=1 seek=500000 conv=notrunc status=none
fails_with 5 "$spillway" stage out lost 2>err >out
grep -q 'lost: its bytes in the tiers are damaged' err || fail "$(cat err)"
[ "$(stat -c %a lost)" = 0 ] || fail "lost: not a stub any more"
fails_with 3 "$spillway" stage out missing 2>err
fails_with 2 "$spillway" stage out 2>err

# A copy of a stub is not brought home, and the command did not do all.
python3 - lost copied <<'END'
import os, sys
open(sys.argv[2], "wb").close()
os.truncate(sys.argv[2], os.stat(sys.argv[1]).st_size)
os.setxattr(sys.argv[2], "user.spillway.kept",
            os.getxattr(sys.argv[1], "user.spillway.kept"))
END
fails_with 5 "$spillway" stage out -n copied 2>err >out
grep -q 'copied: is a copy of a stub' err || fail "$(cat err)"
