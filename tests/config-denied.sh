#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# config-denied.sh -- what one may not write or read is said with the reason

. tests/functions.sh

unset SPILLWAY_JOB

# In a place that another user reaches; root becomes somebody else, since
# nothing is denied to it.
place=$(mktemp -d "${TMPDIR:-/tmp}/$test_name.XXXXXX")
at_end 'rm -rf "$place"'
chmod 755 "$place"
cp "$top_builddir/tests/config-driver" "$place/driver"
if [ "$(id -u)" = 0 ]; then
	uid=65534
	as=(setpriv --reuid=$uid --regid=$uid --clear-groups)
	"${as[@]}" true 2>/dev/null || cannot "root cannot become another user"
	"${as[@]}" "$place/driver" >/dev/null 2>&1 ||
		cannot "another user cannot run a program in $place"
	owner=root:root
else
	uid=$(id -u)
	as=()
	owner=$uid:$(id -g)
fi
cd "$place"

# says CMD...: the command ends with 125 and says standard input.
says()
{
	local expected status=0 found

	expected=$(cat)
	found=$("${as[@]}" "$@" 2>&1 >/dev/null) || status=$?
	[ "$found" = "$expected" ] && [ $status = 125 ] && return
	diff <(echo "$expected") <(echo "$found") || :
	fail "$*: ended with $status"
}

mkdir tier
chmod 0555 tier
export D=$place
export SPILLWAY_INCLUDE=/none
says env 'SPILLWAY_TIERS=ram@1M nvme:${D}/tier@1M' ./driver <<EOF
spillway: error: tier nvme: cannot create a file in $place/tier: Permission denied ($owner 0555, you are uid $uid)
    ram@1M nvme:\${D}/tier@1M
                ^^^^^^^^^
    hint: use a directory of yours, e.g. 'nvme:\${TMPDIR}@80%'  [E110]
EOF

echo job=a >test.conf
chmod 0200 test.conf
says ./driver --config test.conf <<EOF
spillway: error: $place/test.conf: cannot be read: Permission denied
    hint: it is named by --config; check the name and the mode  [E190]
EOF

# A user's file that cannot be read is an error; one below somebody else's
# directory does not exist for us.
mkdir -p home/.config/spillway
echo job=a >home/.config/spillway/spillway.conf
chmod 0200 home/.config/spillway/spillway.conf
unset XDG_CONFIG_HOME
says env HOME="$place/home" ./driver <<EOF
spillway: error: $place/home/.config/spillway/spillway.conf: cannot be read: Permission denied
    hint: repair or remove it  [E190]
EOF
chmod 0000 home/.config
"${as[@]}" env HOME="$place/home" ./driver >/dev/null ||
	fail "somebody else's home directory is in the way"
chmod 0700 home/.config
