#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-profile.sh -- codecs and tiers are measured, kept, and nothing is left

. tests/functions.sh

mkdir "$scratch/disk"
unset SPILLWAY_JOB
disk=$(place "$scratch/disk")
tiers="ram@16M nvme:$disk@64M"
seed=$scratch/seed.json
head -c 300000 "$spillway" >file

profile()
{
	"$spillway" profile -q --seconds 1 --tiers "$tiers" --seed "$seed" "$@"
}

is_empty()
{
	[ -z "$(find "$scratch/disk" -mindepth 1)" ] ||
		fail "something is left: $(find "$scratch/disk")"
}

# lines N: what was said on standard error.
lines()
{
	[ "$(wc -l <err)" = "$1" ] || fail "$(cat err)"
}

if ! has_json; then
	! profile file >out 2>err || fail "it cannot have been saved"
	lines 1
	grep -q 'was not saved: no JSON in this build' err || fail "$(cat err)"
	cannot "this build has no JSON"
fi
profile file >out 2>err || fail "$(cat err)"
lines 0
is_empty
grep -q '^SPILLWAY_TIERS=' out || fail "$(cat out)"
sed -n '/^data/{n;p}' out | grep -q '^file ' ||
	fail "the file does not come first: $(cat out)"
grep -q '^nvme:.* 64 KiB ' out && grep -q '^home:' out || fail "$(cat out)"
for member in machine updated profiled versions tiers costs; do
	grep -q "\"$member\"" "$seed" || fail "the seed has no $member"
done

# What it suggests can be pasted, whatever the place is called.  It is there if
# it was the faster of two on one disk.
odd=$scratch/disk/o\'d$'\xff'
mkdir "$odd"
for i in $(seq 9); do
	"$spillway" profile -q --seconds 1 --seed "$seed" >out 2>err \
		--tiers "ram@16M nvme:$disk/o'd"$'\xff@16M' ||
		fail "$(cat err)"
	! grep '^SPILLWAY_TIERS=.*nvme:' out || break
done
(
	unset SPILLWAY_TIERS
	eval "$(grep '^SPILLWAY_TIERS=' out)"
	[ -n "$SPILLWAY_TIERS" ] || fail "$(cat out)"
	"$spillway" run --tiers "$SPILLWAY_TIERS" -- true 2>err ||
		fail "$SPILLWAY_TIERS: $(cat err)"
)
rmdir "$odd"

# Damaged: one line, and made anew.
head -c 100 "$seed" >cut
cp cut "$seed"
profile --json >out 2>err || fail "$(cat err)"
lines 1
grep -q "$seed .*ignored, it will be rebuilt" err || fail "$(cat err)"
grep -q '"costs"' "$seed" || fail "the seed was not made anew"
if type python3 >/dev/null 2>&1; then
	python3 - "$seed" <<'EOF'
import json, sys
out = json.load(open("out"))
assert out["machine"]["cores"] >= 1 and out["SPILLWAY_TIERS"]
tier = [t for t in out["tiers"] if t["tier"].startswith("nvme:")][0]
assert tier["write"] > 0 and tier["latency_us"] > 0
assert len({(p["size"], p["depth"]) for p in tier["points"]}) >= 4
seed = json.load(open(sys.argv[1]))
assert [n for n in seed["tiers"] if n.startswith("nvme:")]
assert seed["versions"]["spillway"]
seed["machine"]["cpu"] = "another"
seed["mine"] = {"kept": [1, 2, 3]}
json.dump(seed, open(sys.argv[1], "w"))
EOF
	# Of another machine: one line, and what is not ours stays.
	profile >out 2>err || fail "$(cat err)"
	lines 1
	grep -q 'of another machine' err || fail "$(cat err)"
	python3 - "$seed" <<'EOF'
import json, sys
seed = json.load(open(sys.argv[1]))
assert seed["mine"] == {"kept": [1, 2, 3]}
assert seed["machine"]["cpu"] != "another"
EOF
fi

# What cannot be measured is named, the rest is.
status=0
profile missing >out 2>err || status=$?
[ $status = 5 ] && grep -q 'error: missing: ' err || fail "$status $(cat err)"
for bad in 0 x 3601 -1; do
	status=0
	"$spillway" profile --seconds $bad >out 2>err || status=$?
	[ $status = 2 ] || fail "--seconds $bad: $status"
	! grep -q job err || fail "no job is meant: $(cat err)"
done

# A codec whose library does not load is left out, and this is said.
if [ -e "$top_builddir/.libs/codec-lz4.so" ]; then
	mkdir lib
	echo 'no library' >lib/liblz4.so.1
	LD_LIBRARY_PATH=$PWD/lib "$spillway" profile --seconds 1 \
		--color never --tiers "$tiers" --seed "$seed" >out 2>err ||
		fail "$(cat err)"
	grep -q 'codec lz4: .*liblz4.so.1.*W179' err || fail "$(cat err)"
	! grep -q '^lz4 ' out || fail "$(cat out)"
	grep -q '^zstd ' out || ! [ -e "$top_builddir/.libs/codec-zstd.so" ] ||
		fail "$(cat out)"
fi

# So is one whose module is gone.
if [ -e "$top_builddir/.libs/codec-lz4.so" ]; then
	mkdir -p copy/.libs
	cp "$spillway" "$top_builddir"/.libs/*.so copy/.libs
	rm copy/.libs/codec-lz4.so
	copy/.libs/spillway profile --seconds 1 --color never \
		--tiers "$tiers" --seed "$seed" >out 2>err || fail "$(cat err)"
	grep -q 'codec lz4: codec-lz4.so is not in .*W179' err ||
		fail "$(cat err)"
	[ $(grep -c W179 err) = 1 ] || fail "$(cat err)"
	! grep -q '^lz4 ' out || fail "$(cat out)"
	rm -r copy
fi

# Interrupted: nothing is kept, nothing is left.
rm -f "$seed"
"$spillway" profile -q --seconds 30 --tiers "$tiers" --seed "$seed" \
	>out 2>err &
while ! find "$scratch/disk" -path '*/profile-*' | grep -q .; do
	kill -0 $! || fail "it is over already"
	sleep 0.02
done
kill -INT $!
status=0
wait $! || status=$?
[ $status = 5 ] && [ ! -e "$seed" ] || fail "interrupted: $status"
is_empty

# Killed: what is left means nothing to recover, which removes it, or clean.
"$spillway" profile -q --seconds 30 --tiers "$tiers" --seed "$seed" \
	>out 2>err &
while ! find "$scratch/disk" -path '*/profile-*' -size +1M | grep -q .; do
	kill -0 $! || fail "it is over already"
	sleep 0.02
done
kill -KILL $!
wait $! 2>/dev/null || :
"$spillway" recover -y --tiers "$tiers" >out 2>err || fail "$(cat out err)"
! grep -qE 'W16[89]' err || fail "recover: $(cat err)"
"$spillway" clean -y --tiers "$tiers" >out 2>err || fail "clean: $(cat err)"
is_empty

# One that stalls is named, and the rest is measured; so is a home.
slow_mount_at stalled
mkdir "$scratch/stalled/tier" "$scratch/stalled/home"
stall()
{
	"$top_builddir/tests/tier-steps" "set:$scratch/stalled:stall=$1"
}
stall '*'
status=0
timeout -s KILL 50 "$spillway" profile -q --seconds 1 --seed "$seed" \
	--include "$scratch/stalled/home" --tiers \
	"$tiers bb:$(place "$scratch/stalled/tier")@64M" >out 2>err || status=$?
stall ''
[ $status = 5 ] || fail "stalled: $status $(cat err)"
lines 2
[ $(grep -c 'stalled/.*: does not answer$' err) = 2 ] || fail "$(cat err)"
grep -q '^nvme:.* 64 KiB ' out || fail "$(cat out)"
grep -q "^SPILLWAY_TIERS='ram@16M nvme:[^ ]*'\$" out || fail "$(cat out)"
