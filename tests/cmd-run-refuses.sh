#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-run-refuses.sh -- programs that cannot be preloaded are refused, with why

. tests/functions.sh
unset SPILLWAY_JOB

# refused STATUS CODE TEXT ARGUMENT...: run ends so, and the program never ran.
refused()
{
	local status=$1 code=$2 text=$3 ended=0

	shift 3
	"$spillway" run "$@" 2>err >out || ended=$?
	[ $ended = "$status" ] || fail "$*: ended with $ended: $(cat err)"
	grep -q "^spillway: error: .*$text" err || fail "$*: $(cat err)"
	[ -z "$code" ] || grep -q "\[$code\]" err || fail "$*: no $code"
	[ ! -s out ] || fail "$*: it ran"
}

refused 127 E177 'no such program' -- ./missing
# In a path without places that this user may not look into.
PATH=/usr/bin:/bin refused 127 E177 'no such program' -- missing-from-path
echo data >plain
refused 126 E177 'cannot be executed' -- ./plain
mkdir dir
refused 126 E177 'cannot be executed' -- ./dir
refused 125 '' 'no program is named'
refused 125 E104 'unknown option' --tires ram -- true
refused 125 E101 'cannot read capacity' --tiers ram@9Q -- true
refused 125 E111 'No such file' --shm-dir /nonexistent -- true

# A program without an interpreter, made by hand: the headers are enough.
elf()
{
	local class=$1 machine=$2

	printf '\177ELF%b\1\1\0\0\0\0\0\0\0\0\0' "$class"
	printf '\2\0%b\0\1\0\0\0' "$machine"
	head -c 40 /dev/zero
	head -c 200 /dev/zero
}
machine=$(od -An -tu1 -j18 -N1 "$spillway" | tr -d ' ')
elf '\2' "\\$(printf %o "$machine")" >static
elf '\1' '\3' >small
elf '\2' '\26' >foreign
chmod +x static small foreign
refused 125 E170 'statically linked' -- ./static
refused 125 E174 '32-bit' -- ./small
refused 125 E174 'another processor' -- ./foreign

# A script is as good as its interpreter, also by way of env.
printf '#!%s/static\n' "$here" >script
printf '#!/usr/bin/env static\n' >by-env
printf 'echo "no interpreter, $1"\n' >bare
chmod +x script by-env bare
refused 125 E170 'static: is statically' -- ./script
PATH=$PWD:$PATH refused 125 E170 'static: is statically' -- ./by-env
[ "$("$spillway" run -- ./bare x)" = 'no interpreter, x' ] || fail "bare"

if [ "$(id -u)" = 0 ] && id nobody >/dev/null 2>&1 &&
	cp "$(type -P true)" set-uid && chown nobody set-uid &&
	chmod 4755 set-uid; then
	case $(findmnt -no OPTIONS -T . 2>/dev/null) in
	*nosuid*) ;;
	*) refused 125 E171 'is set-uid' -- ./set-uid ;;
	esac
fi

# Without Spillway everything runs, or fails, as it would.
"$spillway" run --disable -- sh -c 'echo "${LD_PRELOAD-none}"' >out
[ "$(cat out)" = none ] || fail "disabled, but preloaded"

# Memory that is hinted at is there.
for limit in 20000 90000; do
	(ulimit -f $limit && fails_with 125 "$spillway" run --tiers ram@128M \
		-- true 2>err)
	tiers=$(sed -n 's/.*a smaller tier: \(ram@[0-9]*M\) .*/\1/p' err)
	(ulimit -f $limit && "$spillway" run --tiers "${tiers:-ram@128M}" \
		-- true) || fail "$limit: $(cat err)"
done

# With few descriptors it runs, or is refused, and nothing is left.  A search
# for leaks, in a build that has it, would wait for one more without end.
mkdir "$scratch/tier"
tiers="ram@4M nvme:$(place "$scratch/tier")@8M"
for limit in 4 5 6 7 8 9 10; do
	status=0
	(ASAN_OPTIONS+=:detect_leaks=0
	 ulimit -n $limit && "$spillway" run --tiers "$tiers" -- dd \
		if=/dev/zero of=few bs=1000 count=9 status=none 2>err) ||
		status=$?
	[ $status = 125 ] || [ $status = 0 -a "$(stat -c %s few)" = 9000 ] ||
		fail "$limit descriptors: $status, $(cat err)"
	! compgen -G "$shm_dir/spillway.*/*.seg" >/dev/null ||
		fail "$limit descriptors: a segment is left"
	rm -f few
done

# Commands: what is meant is guessed, what is not understood is refused.
fails_with 2 "$spillway" statsu 2>err
grep -q 'did you mean status?' err || fail "$(cat err)"
fails_with 2 "$spillway" 2>/dev/null
fails_with 2 "$spillway" status --receipt out 2>/dev/null
fails_with 2 "$spillway" drain --timeout 5 2>/dev/null
fails_with 3 "$spillway" status none-such 2>/dev/null
fails_with 3 "$spillway" drain none-such 2>/dev/null
fails_with 3 "$spillway" recover -y none-such 2>/dev/null
for command in $("$spillway" --help | sed -n 's/^  \([a-z]\+\) .*/\1/p'); do
	[ "$command" != help ] || continue
	"$spillway" "$command" --help >out
	[ "$(grep "^  [^ -]" out | grep -c spillway)" -ge 3 ] ||
		fail "$command --help has fewer than three examples"
	"$spillway" help "$command" | cmp - out
done
