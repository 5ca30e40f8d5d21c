#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# tier-io.sh -- tier nvme writes past the page cache or through it as it is
# told, and else as it finds better

. tests/functions.sh
requires_disk
unset SPILLWAY_JOB

mkdir "$scratch/disk"
head -c 3000000 /dev/urandom >"$scratch/new"

# way_of OPTION: how the parent, which drains, has the files of the log open.
cat >"$scratch/look" <<'END'
dd if="$1" of=file bs=1M conv=fsync status=none
for fd in /proc/$PPID/fd/*; do
	case $(readlink "$fd") in
	*/nvme-*.log)
		sed -n 's/^flags:[[:space:]]*//p' \
			"/proc/$PPID/fdinfo/${fd##*/}" ;;
	esac
done | sort -u
END
way_of()
{
	local flags way

	flags=$("$spillway" run --drain-delay 60s --tiers \
		"ram@16M nvme:$(place "$scratch/disk")@64M$1" -- \
		bash "$scratch/look" "$scratch/new")
	for way in $flags; do
		[ $((way & 0x4000)) = 0 ] && echo buffered ||
			echo direct
	done | sort -u
	same_bytes file "$scratch/new"
	rm file
}

case $(uname -m) in
x86_64 | i?86) ;;
*) cannot "O_DIRECT has another number here" ;;
esac
dd if=/dev/zero of=probe oflag=direct bs=4096 count=1 status=none 2>err ||
	cannot "no O_DIRECT here"
[ "$(way_of +io=direct)" = direct ] || fail "not direct"
[ "$(way_of +io=buffered)" = buffered ] || fail "not buffered"
[ "$(way_of +io=buffered+lz4)" = buffered ] || fail "not buffered, packed"
for option in '' +io=auto; do
	case $(way_of "$option") in
	direct | buffered) ;;
	*) fail "both ways at once, or none" ;;
	esac
done
fails_with 2 "$spillway" recover -y --tiers \
	"nvme:$(place "$scratch/disk")@64M+io=quick" >out 2>err
grep -q 'cannot read the value of io' err || fail "$(cat err)"
