#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# config-run.sh -- a bad setting stops a run, and switches a bare preload off

. tests/functions.sh

printf 'job a\n' >broken.conf
chmod 644 broken.conf

# refused CODE NAME=VALUE: the command says the same as `spillway config`,
# ends with 125, and the program is not started.
refused()
{
	local status=0

	env "$2" "$spillway" run -- touch started 2>run.err || status=$?
	[ $status = 125 ] || fail "$2: ended with $status"
	[ ! -e started ] || fail "$2: the program was started"
	grep -q "\[$1\]\$" run.err || { cat run.err; fail "$2: no $1"; }
	env "$2" "$spillway" config >/dev/null 2>config.err &&
		fail "$2: spillway config accepts it"
	diff config.err run.err || fail "$2: two different messages"
}

refused E181 SPILLWAY_TIERS=floppy:/a
refused E101 SPILLWAY_TIERS=ram@200Q
refused E103 SPILLWAY_TIERS=ram@16
refused E150 SPILLWAY_TIERS=ram@9E
refused E184 SPILLWAY_TIERS='ram@1M ram@2M'
refused E185 SPILLWAY_TIERS=redis://me:hunter2@host
refused E183 SPILLWAY_INCLUDE=data
refused E107 SPILLWAY_DRAIN_DELAY=2m
refused E190 SPILLWAY_CONFIG="$PWD/none.conf"
refused E191 SPILLWAY_CONFIG="$PWD/broken.conf"

fails_with 125 "$spillway" run --teirs ram -- touch started 2>run.err
grep -q '\[E104\]$' run.err || fail "an unknown option has no code"
[ ! -e started ] || fail "the program was started"

# inert CODE NAME=VALUE: one line, and the program is served by the kernel.
inert()
{
	rm -f file
	env "$2" LD_PRELOAD="$preload" bash -c 'echo text >file' 2>err ||
		fail "$2: the program failed"
	[ "$(cat file)" = text ] || fail "$2: the file is wrong"
	[ "$(wc -l <err)" = 1 ] && grep -q \
		"^spillway: error: .*; the program runs without Spillway  \[$1\]" \
		err || { cat err; fail "$2: not one line with $1"; }
	[ -z "$(find "$SPILLWAY_SHM_DIR" -name '*.seg')" ] ||
		fail "$2: a segment was made"
}

export SPILLWAY_SHM_DIR=$scratch/shm
mkdir -p "$SPILLWAY_SHM_DIR"
inert E101 SPILLWAY_TIERS=ram@200Q
inert E185 SPILLWAY_TIERS=redis://me:hunter2@host
! grep -q hunter2 err || fail "the password is shown"
inert E191 SPILLWAY_CONFIG="$PWD/broken.conf"

# Switched off, nothing is read and nothing is said.
SPILLWAY_DISABLE=1 SPILLWAY_TIERS=ram@200Q LD_PRELOAD="$preload" \
	bash -c 'echo text >file' 2>err
[ ! -s err ] || { cat err; fail "the off switch says something"; }
