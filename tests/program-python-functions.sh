# SPDX-License-Identifier: BSD-3-Clause
# program-python-functions.sh -- how scripts run tests of Python's own

# The interpreter that the packaged tests belong to.
python=/usr/bin/python3
[ -x $python ] || python=python3
requires $python -c 'import test.test_fileio'

# own_tests MODULE [PATTERN...]: the tests that match, both ways. The sets of
# those that pass, fail and are skipped must be the same. Both run at once.
own_tests()
{
	local module=$1 pid

	mkdir -p plain spilled
	(cd plain && exec $python "$srcdir/program-python-twin.py" \
		../plain.$module "$@") </dev/null >plain.log 2>&1 &
	pid=$!
	(cd spilled && spilled $python "$srcdir/program-python-twin.py" \
		../spilled.$module "$@") </dev/null >spilled.log 2>&1 ||
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
