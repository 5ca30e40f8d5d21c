#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-fake-clock.sh -- files get the kernel's time, also where a library
# preloaded before us or after us shows the program another

. tests/functions.sh
find_fake_clock
work='echo $$ >pid; dd if=/dev/zero of=file bs=1000 count=300 status=none
	date +%Y'

# is_now FILE: its time is not the one shown, which is days away.
is_now()
{
	local away=$(($(stat -c %Y "$1") - $(date +%s)))

	[ ${away#-} -lt 3600 ] || fail "$1 is of $(stat -c %y "$1")"
}

for jump in -6y +400d; do
	for libraries in "$fake:$preload" "$preload:$fake"; do
		FAKETIME=$jump spilled env LD_PRELOAD="$libraries" \
			sh -c "$work" >year
		[ "$(cat year)" != "$(date +%Y)" ] ||
			fail "$libraries: the clock is not another"
		counter_above writes_absorbed 200
		is_now file
		rm -f file "/dev/shm/faketime_shm_$(cat pid)" \
			"/dev/shm/sem.faketime_sem_$(cat pid)"
	done
done
