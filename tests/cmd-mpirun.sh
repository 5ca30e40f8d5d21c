#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# cmd-mpirun.sh -- spillway-mpirun puts spillway run before the program

. tests/functions.sh

# Beside a command that is never called here.
mkdir bin
cp "$top_srcdir/tools/spillway-mpirun" bin/
printf '#!/bin/false\n' >bin/spillway
chmod +x bin/spillway
wrapper=$PWD/bin/spillway-mpirun

# means EXPECTED ARGUMENT...: what --dry-run prints.
means()
{
	local expected=$1 got

	shift
	got=$(bash "$wrapper" --dry-run "$@") || fail "$*: failed"
	[ "$got" = "$expected" ] || fail "$*: $got, expected $expected"
}

command=$PWD/bin/spillway
case $command in
*[!A-Za-z0-9/._-]*) command="'$command'" ;;
esac
run="$command run --"
means "mpirun -n 4 $run ./a.out -n 9" -n 4 ./a.out -n 9
means "mpirun -np 4 --map-by node -x PATH $run app" \
	-np 4 --map-by node -x PATH app
means "mpirun --mca btl self,tcp -H a,b --oversubscribe $run app x" \
	--mca btl self,tcp -H a,b --oversubscribe app x
means "mpiexec -n 2 -hosts=a,b -genv A 1 $run app" \
	mpiexec -n 2 -hosts=a,b -genv A 1 app
means "mpiexec -f hosts -ppn 2 -bind-to core $run app" \
	mpiexec -f hosts -ppn 2 -bind-to core app
means "srun -N 2 -n8 --ntasks-per-node=4 -c 2 -l $run app -c 3" \
	srun -N 2 -n8 --ntasks-per-node=4 -c 2 -l app -c 3
means "srun --mpi pmix -p debug -t 10 -u $run app" \
	srun --mpi pmix -p debug -t 10 -u app
means "mpirun -n 1 $run a : -n 2 $run b c" -n 1 a : -n 2 b c
means "mpirun -n 1 $command run --tiers 'ram@1G nvme:/x' -- app" \
	--run-option --tiers --run-option 'ram@1G nvme:/x' -n 1 app
fails_with 125 bash "$wrapper" --dry-run -n 4 2>/dev/null

requires type mpirun
rm bin/spillway
unset SPILLWAY_JOB
flags=(--oversubscribe)
[ "$(id -u)" != 0 ] || flags+=(--allow-run-as-root)
mpirun "${flags[@]}" -n 1 true >/dev/null 2>&1 ||
	cannot "mpirun does not work here"
rm -f jobs
PATH=$top_builddir:$PATH bash "$wrapper" "${flags[@]}" -n 3 \
	sh -c 'dd if=/dev/zero of=rank.${OMPI_COMM_WORLD_RANK:-$PMI_RANK} \
		bs=1000 count=50 status=none; echo "$SPILLWAY_JOB" >>jobs'
for rank in 0 1 2; do
	[ "$(stat -c %s rank.$rank)" = 50000 ] || fail "rank $rank"
done
[ "$(sort -u jobs | wc -l)" = 1 ] || fail "not one job: $(cat jobs)"
