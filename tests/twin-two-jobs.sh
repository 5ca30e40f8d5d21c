#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-two-jobs.sh -- two jobs on one file are like two plain programs

. tests/functions.sh

program=$top_builddir/tests/two-jobs
mkfifo one two

spilled_as()
{
	SPILLWAY_JOB=$1 "$spillway" run --receipt "$scratch/$1.json" \
		--drain-delay 10s -- "${@:2}"
}

both()
{
	local first

	$1 "$program" "$2" 0 "$3" &
	first=$!
	$1 "$program" "$2" 1 "$3" || fail "$2: the second failed"
	wait $first || fail "$2: the first failed"
}

plain_as()
{
	"$@"
}

as_job()
{
	spilled_as "job-$2-$3" "$@"
}

for form in append talk turns cut storm; do
	both plain_as $form plain-$form
	both as_job $form spilled-$form
	case $form in
	append|storm)
		sort -o plain-$form plain-$form
		sort -o spilled-$form spilled-$form ;;
	esac
	same_bytes plain-$form spilled-$form
	for twin in 0 1; do
		receipt=$scratch/job-$form-$twin.json
		counter_is bytes_undrained 0
		[ $form = turns ] || [ $form = storm ] ||
			grep -q '"other-job"' "$receipt" ||
			fail "$form: job $twin does not know of the other"
	done
done

# Whoever has it alone has it in memory, also after others had it.
receipt=$scratch/job-turns-0.json
counter_above writes_absorbed 20

# A dead job's bytes come home before another job sees the file.
SPILLWAY_JOB=dead "$spillway" run --drain-delay 60s -- \
	"$program" linger 0 legacy &
run=$!
timeout 20 dd if=one of=/dev/null bs=1 count=1 2>/dev/null ||
	fail "the program that is to be killed does not run"
kill -9 $run $(pgrep -P $run)
wait $run 2>/dev/null || :
[ ! -s legacy ] || fail "it came home too early to prove anything"
spilled_as heir "$program" follow 1 legacy 2>err || fail "$(cat err)"
grep -q 'dead job dead .*\[W165\]' err || fail "nothing was said: $(cat err)"
receipt=$scratch/heir.json
counter_is writes_absorbed 1

# That is said once, of however many files.
{ SPILLWAY_JOB=dead-too "$spillway" run --drain-delay 60s -- bash -c '
	for file in first second; do
		dd if=/dev/zero of=$file bs=1k count=3 status=none
	done
	kill -9 $PPID $$' || :; } 2>/dev/null
spilled_as heir cat first second 2>err | wc -c | grep -qx 6144 ||
	fail "not all is there: $(cat err)"
[ "$(grep -c 'dead job dead-too .*\[W165\]' err)" = 1 ] ||
	fail "not said once: $(cat err)"

# Of one that has ended there is nothing to say while its agent is at work.
SPILLWAY_JOB=ended SPILLWAY_DRAIN_DELAY=60s SPILLWAY_INCLUDE=$PWD \
	env LD_PRELOAD="$preload" dd if=/dev/zero of=ended bs=1k count=3 \
	status=none
spilled_as heir cat ended 2>err | wc -c | grep -qx 3072 ||
	fail "not all is there: $(cat err)"
[ ! -s err ] || fail "of a job that ended: $(cat err)"

# A link that leads to the library stays where its own name has a blank.
left()
{
	find "$shm_dir" -mindepth 2 ! -type l
}

for i in $(seq 100); do
	[ -n "$(left)" ] || break
	sleep 0.1
done
[ -z "$(left)" ] || fail "left behind: $(left)"
