#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-run-signals.sh -- signals sent to run reach the program, once, then home

. tests/functions.sh
unset SPILLWAY_JOB

cat >program <<'EOF'
#!/bin/bash
for sig in HUP INT QUIT TERM USR1 USR2; do
	trap "echo $sig >>caught; exit 3" $sig
done
printf 'some bytes' >file
echo >ready
for ((i = 0; i < 100; i++)); do sleep 0.1; done
EOF
chmod +x program

wait_ready()
{
	for ((i = 0; i < 200; i++)); do
		[ ! -e ready ] || break
		sleep 0.02
	done
}

for sig in HUP INT QUIT TERM USR1 USR2; do
	rm -f ready caught file
	# Job control, since background jobs of a script ignore INT and QUIT.
	set -m
	"$spillway" run -- ./program &
	set +m
	pid=$!
	wait_ready
	kill -$sig $pid
	fails_with 3 wait $pid
	[ "$(cat caught)" = $sig ] || fail "$sig: caught $(cat caught)"
	[ "$(cat file)" = 'some bytes' ] || fail "$sig: not home"
done

# Stopped and continued as one job.
rm -f ready
set -m
"$spillway" run -- ./program &
set +m
pid=$!
wait_ready
kill -TSTP $pid
state=
for ((i = 0; i < 200; i++)); do
	state=$(sed 's/.*) \(.\).*/\1/' /proc/$pid/stat)
	[ "$state" != T ] || break
	sleep 0.02
done
[ "$state" = T ] || fail "run does not stop with its program"
kill -CONT $pid
kill -TERM $pid
fails_with 3 wait $pid
! compgen -G "$shm_dir/spillway.*/*.seg" >/dev/null || fail "segments are left"
