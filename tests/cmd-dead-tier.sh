#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-dead-tier.sh -- a tier in which nothing can be made just now, or that is
# not ours: commands say so, in time, and end with the right status

. tests/functions.sh
requires_disk
requires python3 --version
unset SPILLWAY_JOB
slow_mount_at tier
tier=$(place "$scratch/tier")
mkdir "$scratch/work" "$scratch/disk"
cd "$scratch/work"
echo bytes >file

# It answers who asks for its size, and nobody who wants to make a file.
for kind in nvme bb; do
	echo 'stall=*' >>"$scratch/tier/.slowfs-control"
	at_end ">'$scratch/tier/.slowfs-control'"
	# A program runs without it, and commands that it calls do not wait.
	timeout 40 "$spillway" run --tiers "ram@16M $kind:$tier@32M" -- \
		sh -c 'echo more >>file; exec "$1" status' "$0" "$spillway" \
		>"$scratch/out" 2>"$scratch/err" ||
		fail "$kind: run ended with $?: $(cat "$scratch/err")"
	[ "$(tail -n 1 file)" = more ] || fail "$kind: $(cat file)"
	grep -q "$tier: is not used: does not answer: .*\[W117\]" \
		"$scratch/err" || fail "$kind: $(cat "$scratch/err")"
	grep -q "$tier: cannot look for shares: does not answer" \
		"$scratch/err" || fail "$kind: $(cat "$scratch/err")"
	# So does one that is preloaded by itself.
	(
		export SPILLWAY_JOB=bare-$kind SPILLWAY_INCLUDE=$PWD
		export SPILLWAY_TIERS="ram@16M $kind:$tier@32M"
		timeout 30 env LD_PRELOAD="$preload" sh -c 'echo bare >>file'
		timeout 30 "$spillway" drain --wait || [ $? = 3 ]
	) >"$scratch/out" 2>"$scratch/err" ||
		fail "$kind, bare: ended with $?: $(cat "$scratch/err")"
	grep -q "$tier: is not used: does not answer: .*\[W117\]" \
		"$scratch/err" || fail "$kind, bare: $(cat "$scratch/err")"
	[ "$(tail -n 1 file)" = bare ] || fail "$kind, bare: $(cat file)"
	fails_with 125 timeout 30 "$spillway" run --strict \
		--tiers "ram@16M $kind:$tier@32M" -- true 2>"$scratch/err"
	fails_with 2 timeout 30 "$spillway" stage in --job next \
		--tiers "ram@16M $kind:$tier@32M" file 2>"$scratch/err"
	grep -q "$tier: does not answer: .*\[E111\]" "$scratch/err" ||
		fail "$kind: $(cat "$scratch/err")"
	>"$scratch/tier/.slowfs-control"
	# Who asked goes when he is answered; until then he may be at it.
	sleep 0.5
	for i in {1..100}; do
		left=$(find "$scratch/tier-back" -mindepth 1)
		[ -n "$left" ] || break
		sleep 0.1
	done
	[ -z "$left" ] || fail "$kind: left: $left"
done

# A share that cannot be looked into is not passed over.
tiers="ram@16M nvme:$(place "$scratch/disk")@64M"
rebooted dead "$tiers" 'synced file "$1"' "$0"
chmod 777 "$scratch"/disk/spillway-*/dead.*
for command in 'recover -y' fsck 'clean -y'; do
	fails_with 5 "$spillway" $command --json --tiers "$tiers" \
		>"$scratch/out" 2>"$scratch/err"
	grep -q 'dead.*W167' "$scratch/err" ||
		fail "$command: $(cat "$scratch/err")"
	python3 -c 'import json, sys; json.load(sys.stdin)' <"$scratch/out" ||
		fail "$command: $(cat "$scratch/out")"
done
chmod 700 "$scratch"/disk/spillway-*/dead.*
"$spillway" recover -y --tiers "$tiers" >"$scratch/out" 2>&1 ||
	fail "$(cat "$scratch/out")"
[ -z "$(ls "$scratch/disk")" ] || fail "something is left"
