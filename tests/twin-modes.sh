#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-modes.sh -- read-only and set-id files come home with their rights

. tests/functions.sh

cat >steps.sh <<'STEPS'
set -e
head -c 5000 /dev/zero >readonly
chmod 0444 readonly
head -c 6000 /dev/zero >nothing
chmod 0 nothing
head -c 7000 /dev/zero >setid
chmod 6755 setid
exec 7>later
head -c 100 /dev/zero >&7
chmod 0400 later
head -c 9000 /dev/zero >&7
exec 7>&-
install -m 0555 /bin/true program 2>/dev/null
cp -p program copy
STEPS

mkdir a b
chmod 0777 a b
(cd a && plain bash ../steps.sh)
spilled_flags=(--drain-delay 10s)
(cd b && spilled bash ../steps.sh)
counter_above bytes_absorbed 10000
for name in readonly nothing setid later program copy; do
	same_stat a/$name b/$name
	[ ! -r a/$name ] || same_bytes a/$name b/$name
done
