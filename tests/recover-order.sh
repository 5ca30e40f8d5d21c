#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# recover-order.sh -- what several dead jobs have of one file comes home in the
# order in which they lived, whatever their names and whichever is named first

. tests/functions.sh
requires_disk
requires python3 --version
unset SPILLWAY_JOB
mkdir "$scratch/disk"
head -c 20000 /dev/zero | tr '\0' A >"$scratch/A"
head -c 20000 /dev/zero | tr '\0' B >"$scratch/B"
cat <(head -c 10000 "$scratch/B") <(tail -c 10000 "$scratch/A") >"$scratch/want"

# lived OLDER YOUNGER: the younger wrote over half of what the older one had.
lived()
{
	truncate -s 0 file
	rebooted $1 "$tiers" 'synced file "$1" count=2' "$scratch/A"
	rebooted $2 "$tiers" 'synced file "$1" count=1' "$scratch/B"
}

recover()
{
	"$spillway" recover -y --tiers "$tiers" "$@" >out 2>err
}

is_home()
{
	same_bytes file "$scratch/want"
	[ -z "$(ls "$scratch/disk")" ] || fail "$*: something is left"
}

for kind in nvme bb; do
	tiers="ram@16M $kind:$(place "$scratch/disk")@256M"
	for jobs in "a z" "z a"; do
		lived $jobs
		recover || fail "$jobs: $(cat out err)"
		is_home $kind $jobs

		# The younger one waits for the older one.
		lived $jobs
		fails_with 5 recover ${jobs#* }
		grep -q "job ${jobs% *} has older pieces of it.*W168" err ||
			fail "$jobs: $(cat out err)"
		same_bytes file /dev/null
		fails_with 5 recover --json ${jobs#* }
		python3 -c 'import json; json.load(open("out"))' ||
			fail "$(cat out)"
		recover ${jobs% *} || fail "$jobs: $(cat out err)"
		recover ${jobs#* } || fail "$jobs: $(cat out err)"
		is_home $kind $jobs

		# Not for one whose pieces may not come any more.
		lived $jobs
		touch -d '2 minutes' file
		fails_with 5 recover ${jobs% *}
		fails_with 5 recover ${jobs#* }
		grep -q 'changed by somebody' err || fail "$jobs: $(cat err)"
		recover --force || fail "$jobs: $(cat out err)"
		is_home $kind $jobs
	done
done

# A segment is younger than what has none.
lived old gone
tr A C <"$scratch/A" >"$scratch/C"
{ "$spillway" run --job new --drain-delay 60s --tiers "$tiers" -- bash -c '
	dd of=file if="$0" bs=5000 count=1 conv=notrunc status=none
	kill -9 $PPID $$' "$scratch/C" || :; } 2>/dev/null
compgen -G "$shm_dir/spillway.*/new.seg" >/dev/null || fail "no segment"
recover || fail "$(cat out err)"
head -c 5000 "$scratch/C" >want
tail -c +5001 "$scratch/want" >>want
same_bytes file want
