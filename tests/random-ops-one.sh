# SPDX-License-Identifier: BSD-3-Clause
# random-ops-one.sh -- one run of random operations; sourced by tests
#
# Short: a seed of its own for every run, some seconds in all.  With
# SPILLWAY_CHECK_LONG=1: ten million operations.  SPILLWAY_CHECK_SEED repeats
# a run; the seed is printed with every failure.

ops=$top_builddir/tests/random-ops
seed=${SPILLWAY_CHECK_SEED:-$(date +%s)}
rounds=1
scale=2
if [ "${SPILLWAY_CHECK_LONG:-}" = 1 ]; then
	rounds=6
	scale=8
fi
total=0
cached=rw,vec,append,seek,stat,open,trunc

# one NAME TIERS DELAY ABSORBS OPS ARGS...: a run in a directory of its own;
# ABSORBS is no where the kernel may serve everything after a moment.
one()
{
	local name=$1 tiers=$2 delay=$3 absorbs=$4 n=$(($5 * scale))

	shift 5
	mkdir -p "$name"
	cd "$name"
	spilled_flags=(--tiers "$tiers" --drain-delay "$delay" --quiet)
	spilled timeout 1200 "$ops" --seed "$seed" --ops "$n" \
		--image "$scratch/$name.image" "$@" data \
		>"$scratch/$name.out" 2>"$scratch/$name.err" ||
		{ cat "$scratch/$name.out" "$scratch/$name.err" >&2
		  fail "$name, seed $seed: $tiers, $delay, $*"; }
	"$ops" --compare data "$scratch/$name.image" ||
		fail "$name, seed $seed: home is not what was written"
	counter_is bytes_undrained 0
	[ "$absorbs" = no ] || counter_above bytes_absorbed 0
	total=$((total + n))
	printf '%s: %s\n' "$name" "$(tail -n 1 "$scratch/$name.out")"
	cd ..
	rm -rf "$name"
}
