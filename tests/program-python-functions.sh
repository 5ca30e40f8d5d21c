# SPDX-License-Identifier: BSD-3-Clause
# program-python-functions.sh -- how scripts run tests of Python's own

# The interpreter that the packaged tests belong to.
python=/usr/bin/python3
[ -x $python ] || python=python3
requires $python -c 'import test.test_fileio'

# Names of sockets must be short.
short=$(mktemp -d /tmp/spw.XXXXXX)
at_end 'rm -rf "$short"'

# own_tests MODULE [PATTERN...]: the tests that match, both ways. The sets of
# those that pass, fail and are skipped must be the same. Both run at once.
own_tests()
{
	local module=$1 here=$PWD pid

	mkdir -p "$short/p" "$short/s"
	(cd "$short/p" && exec $python "$srcdir/program-python-twin.py" \
		"$here/plain.$module" "$@") </dev/null >plain.log 2>&1 &
	pid=$!
	(cd "$short/s" &&
	 spilled $python "$srcdir/program-python-twin.py" \
		"$here/spilled.$module" "$@") </dev/null >spilled.log 2>&1 ||
		{ tail -n 50 spilled.log >&2; fail "$module broke off"; }
	wait $pid || { tail plain.log >&2; fail "$module broke off, plain"; }
	[ -s plain.$module ] || fail "$module: nothing matches"
	diff -u plain.$module spilled.$module >&2 || {
		grep -A 30 '^\(FAIL\|ERROR\):' spilled.log >&2 || :
		fail "$module: other results"
	}
	counter_is bytes_undrained 0
	sed 's/ .*//' plain.$module | sort | uniq -c |
		awk -v module=$module '{ s = s " " $1 " " $2 }
				       END { print module ":" s }'
}
