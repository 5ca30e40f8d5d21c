# SPDX-License-Identifier: BSD-3-Clause
# below-functions.sh -- what tests of the blocks below memory share

# came_up STEP: sets bytes to those that came up since the last one, before.
# The program, $run, waits meanwhile, and nothing gets home, so that nobody
# else has anything brought up.
before=0
came_up()
{
	local now

	until [ -e "$scratch/$1" ]; do
		kill -0 $run || fail "$(cat "$scratch/out" "$scratch/err")"
		sleep 0.05
	done
	now=$("$spillway" status --json |
		sed -n 's/.*"bytes_up": *\([0-9]*\).*/\1/p')
	touch "$scratch/$1.over"
	bytes=$((now - before))
	before=$now
}
