#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-json.sh -- who asks for JSON gets an object, also where a command fails

. tests/functions.sh
requires python3 --version
unset SPILLWAY_JOB

# is_json FILE KEY VALUE: one object, with that at its top.
is_json()
{
	python3 -c 'import json, sys
found = json.load(open(sys.argv[1]))
sys.exit(str(found[sys.argv[2]]) != sys.argv[3])' "$@" ||
		fail "not $2 $3: $(cat "$1")"
}

for command in status drain recover fsck clean; do
	fails_with 3 "$spillway" $command --json none >out 2>/dev/null
	is_json out status 3
	: >file
	fails_with 4 "$spillway" $command --json --shm-dir file/x \
		>out 2>/dev/null
	is_json out status 4
	fails_with 4 "$spillway" $command --json --shm-dir "$PWD/none" \
		>out 2>/dev/null
	is_json out status 4
	SPILLWAY_SHM_DIR=$PWD/none "$spillway" $command >/dev/null
done
for command in status place drain stage 'stage in' recover fsck clean \
	profile config; do
	fails_with 2 "$spillway" $command --json --no-such-thing >out \
		2>/dev/null
	is_json out status 2
done
fails_with 2 "$spillway" drain --timeout 5 --json >out 2>/dev/null
is_json out status 2
fails_with 1 "$spillway" config --json --drain-delay x >out 2>/dev/null
is_json out status 1

# Only where it was asked for, and not in the name of a program.
fails_with 3 "$spillway" status none >out 2>/dev/null
[ ! -s out ] || fail "$(cat out)"
fails_with 3 "$spillway" status -- none --json >out 2>/dev/null
[ ! -s out ] || fail "$(cat out)"
fails_with 7 "$spillway" run -- sh -c 'exit 7' --json >out
[ ! -s out ] || fail "$(cat out)"

# A segment that cannot be read is among the jobs.
"$spillway" run -- true
dir=$(echo "$shm_dir"/spillway.*)
head -c 100000 /dev/urandom >"$dir/broken.seg"
chmod 600 "$dir/broken.seg"
fails_with 5 "$spillway" drain --json >out 2>/dev/null
python3 -c 'import json
jobs = json.load(open("out"))["jobs"]
assert [(j["job"], "error" in j) for j in jobs] == [("broken", True)]' ||
	fail "$(cat out)"
