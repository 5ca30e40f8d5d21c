#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-stopped.sh -- one process is stopped at a named point; the rest goes on
#
# Another process writes, syncs, opens and closes files of its own, their bytes
# come home, others join it, another job does its work, and commands answer.
# Then the first goes on, and all it wrote is right, or it is killed, and the job
# ends.

. tests/functions.sh

program=$top_builddir/tests/stopped
points=$(grep -rho --include='*.c' 'SPW_FAILPOINT("[a-z-]*"' \
	"$top_srcdir/shm" | cut -d'"' -f2 | sort -u)
mkdir a tier
(cd a && "$program" work)

# Who waits is told for whom, every ten seconds.
names_it()
{
	"$spillway" drain --wait --timeout 12s >out 2>&1 || :
	grep -q 'waits for process [0-9]*, which is stopped' out ||
		fail "drain says: $(cat out)"
}

# another_job POINT: with files all over the table of claims.
another_job()
{
	mkdir -p c
	(cd c && SPILLWAY_TIERS=ram@16M timeout 60 "$spillway" run \
		--job "other-$$" -- "$program" many) >out 2>&1 ||
		fail "$1: held up another job: $(cat out)"
	[ ! -s out ] || fail "$1: another job said: $(cat out)"
}

# stopped_at POINT:N TIERS GO: GO is `go` or `kill`.
stopped_at()
{
	local files=files began said

	case $1 in
	file-* | name-* | claims-open* | after:*) files= ;; # neighbours wait
	esac
	rm -rf b
	mkdir b
	coproc RUN { cd b && exec "$spillway" run --receipt "$receipt" \
		--drain-delay 1ms --tiers "$2" -- "$program" all "$1" $files \
		2>"$scratch/err"; }
	run=$RUN_PID
	exec 4<&"${RUN[0]}" 5>&"${RUN[1]}"
	read -r -t 60 -u 4 said || fail "$1: $(cat "$scratch/err")"
	reached=0
	[ "$said" != "held up" ] || fail "$1, $2: held up another process"
	if [ "$said" = "went on" ]; then
		reached=1
		began=$SECONDS
		until [ "$(head -c 16384 b/beside | tr -d 1 | wc -c)" = 0 ]; do
			((SECONDS < began + 10)) || fail "$1, $2: not home"
			sleep 0.01
		done
		began=$SECONDS
		"$spillway" drain --wait --timeout 100ms >/dev/null 2>&1 || :
		"$spillway" status >/dev/null || fail "$1, $2: status"
		((SECONDS <= began + 5)) || fail "$1, $2: a command waited"
		[ "$1" != block-applied:3 ] || names_it
		case $1 in
		claims-* | proc-* | after:*) another_job "$1" ;;
		esac
		echo "$3" >&5
	fi
	exec 5>&-
	wait $run || fail "$1, $2, $3: ended with $?: $(cat "$scratch/err")"
	exec 4<&-
	counter_is bytes_undrained 0
	[ "$3" = kill ] || diff -r -x beside -x other -x joined a b ||
		fail "$1, $2: files differ"
}

for ((i = 0; i < 15; i++)); do
	stopped_at after:$((RANDOM % 20000)) ram@64M go
done

seen=0
for point in $points; do
	stopped_at $point:3 ram@64M go
	seen=$((seen + reached))
	((reached)) || stopped_at $point:1 ram@64M go
	stopped_at $point:2 "ram@64M nvme:$(place "$here/tier")" kill
done
((seen)) || skip "needs: --enable-failpoints"
((seen >= 20)) || fail "only $seen points were reached"
