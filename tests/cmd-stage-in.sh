#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-stage-in.sh -- stage in brings files into a job's memory, from where its
# programs read them

. tests/functions.sh
requires_disk
requires python3 --version

head -c 3000001 /dev/urandom >data
mkdir more
head -c 70000 /dev/urandom >more/small
cp data "$scratch/data"
cp more/small "$scratch/small"
tiers="ram@16M nvme:$(place "$scratch")/tier@32M"
mkdir "$scratch/tier"
spilled_flags=(--tiers "$tiers" --include "$PWD")
stage_in()
{
	"$spillway" stage in --tiers "$tiers" --for 1h "$@"
}
at_end end_jobs
end_jobs()
{
	local pid

	for pid in $("$spillway" status --json 2>/dev/null |
		sed -n 's/.*"drainer_pid": \([1-9][0-9]*\).*/\1/p'); do
		kill "$pid"
	done
}
in_memory()
{
	"$spillway" stage in -n --json "$@" |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["in_memory"])'
}

# Nothing is there, then all; the next program reads no byte from home.
[ "$(in_memory data more)" = 0 ] || fail "something is there already"
SPILLWAY_DRAINER=thread stage_in data more >out || fail "$(cat out)"
grep -qx '2.9 MiB of 2.9 MiB in memory, of 2 files' out || fail "$(cat out)"
[ "$(in_memory data more)" = 3070001 ] || fail "not all of it is there"
spilled cat data more/small | cat >out
cat "$scratch/data" "$scratch/small" | cmp - out || fail "other bytes"
counter_is bytes_served 3070001

# It outlives that program, and what is written to it counts.
[ "$(in_memory data)" = 3000001 ] || fail "gone with the program"
for name in data "$scratch/data"; do
	printf 'changed' | dd of="$name" bs=1 seek=4090 conv=notrunc status=none
done
[ "$(stage_in --json data | grep -c '"in_memory": 3000001')" = 2 ] ||
	fail "not brought up again"
spilled cat data >out
same_bytes out "$scratch/data"
spilled bash -c 'printf "a word" | dd of=data bs=1 seek=100 conv=notrunc \
	status=none; truncate -s 2500000 data; echo end >>data; cat data' >out
same_bytes out data
[ "$(stat -c %s data)" = 2500004 ] || fail "size: $(stat -c %s data)"

# Somebody else changed it: what is in memory is not read any more.
cp "$scratch/small" "$scratch/new"
printf 'other bytes' | dd of="$scratch/new" conv=notrunc status=none
cp "$scratch/new" more/small
spilled cat more/small >out
same_bytes out "$scratch/new"

# What does not fit is told; the rest is there, and room for writers is left.
head -c 20000000 /dev/urandom >large
fails_with 5 stage_in --json large >out 2>err
python3 -m json.tool out >/dev/null || fail "$(cat out)"
grep -q 'large: memory has no more room' err || fail "$(cat err)"
[ "$(in_memory large)" -gt 1000000 ] || fail "nothing of it is there"
spilled bash -c 'cat large; head -c 9000000 large >copy' >out
same_bytes out large
same_bytes copy <(head -c 9000000 large)

# Bytes that are kept in tiers: home, and up.
end_jobs
while compgen -G "$shm_dir/spillway.*/*.seg" >/dev/null; do sleep 0.05; done
spilled_flags+=(--at-exit keep --job other)
spilled dd if="$scratch/data" of=kept bs=64k status=none
[ "$(stat -c %a kept)" = 0 ] || fail "not kept"
stage_in kept >out
grep -q '^2.8 MiB of 2.8 MiB in memory' out || fail "$(cat out)"
same_bytes kept "$scratch/data"
[ -z "$(find "$scratch/tier" -name '*other*')" ] || fail "left in the tier"

# The segment goes when the time is over.
end_jobs
while compgen -G "$shm_dir/spillway.*/*.seg" >/dev/null; do sleep 0.05; done
"$spillway" stage in --for 1s --tiers "$tiers" data >out
for i in {1..100}; do
	compgen -G "$shm_dir/spillway.*/*.seg" >/dev/null || break
	sleep 0.1
done
[ $i -lt 100 ] || fail "the segment stays: $("$spillway" status)"

# Not understood.
fails_with 3 stage_in nowhere 2>err
grep -q 'nowhere: No such file' err || fail "$(cat err)"
unset SPILLWAY_JOB
fails_with 2 stage_in data 2>err
grep -q 'for which job' err || fail "$(cat err)"
fails_with 2 stage_in --job a --for soon data 2>err
fails_with 2 "$spillway" stage up data 2>err
