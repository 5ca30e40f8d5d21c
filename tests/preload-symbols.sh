#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# preload-symbols.sh -- every I/O symbol of this libc is in the table
#
# What counts as I/O is told by words that occur in the name.  The words are
# wide, so that a name which a new libc brings is caught; families that use
# one of them but never touch a file are taken out again.  That the table and
# our exports agree is the subject of preload-exports.sh.

. tests/functions.sh
requires readelf --version

table=$top_srcdir/interpose/symbols.h
libc=$(awk '$6 ~ /\/libc(-[0-9.]+)?\.so(\.6)?$/ {print $6; exit}' \
	/proc/$$/maps)
[ -n "$libc" ] || skip "this shell is not linked with a libc of its own"

one_of()
{
	tr -s ' \n' '|' | sed 's/^|*//; s/|*$//'
}

io=$(one_of <<'WORDS'
open creat close read write seek dup fcntl ioctl trunc fallocate fadvise
sync stat utim rename link remove temp tmp mkdir mkfifo mknod rmdir chmod
chown xattr map msync madvise mincore mprotect mlock munlock file splice
^tee$ ^aio_ ^lio_ ^flock$ ^lockf fork clone exec spawn popen ^system$ daemon
exit$ Exit$ abort limit signal$ signalfd sigaction sigset$ sigvec
siginterrupt sigignore socket accept pipe eventfd epoll timerfd memfd notify
pidfd getpt pty login_tty fspick fsmount ^(__)?(send|recv) ^fts ftw getdents
getdirentries dir$ dirat glob printf scanf getline getdelim
^(__)?f?(un)?(get|put)(c|s|w|wc|ws|char|wchar)(_unlocked)?(_chk)?$
^f(flush|setpos|getpos|tell|eof|error|wide|purge) rewind set(v|line)?buf
^__f[bflprsw] flow$ flushlbf clearerr syscall backtrace_symbols_fd ftok
dlmopen unshare wordexp mntent path access chroot cwd handle_at mount swapo acct
quotactl uselib
^_IO_(fopen|fdopen|fclose|fread|popen)$
WORDS
)

not_io=$(one_of <<'WORDS'
^_?(__)?pthread_ ^(mtx|cnd|thrd|tss|sem|shm|msg)_? ^mq_[^ocu]
^(xdr|svc|clnt|auth|key_|pmap|xprt|rpc|__rpc)
^(__)?w?(mem|str|stp|wcs|wcp)[^f] ^(arg[pz]|envz|obstack|__obstack|re_|reg)
^(get|set|end|put|fget|sget)(gr|pw|sg|sp|net|host|serv|proto|rpc|alias|tty|ut)
^(get|set|end)fs
^(__)?v?a?sn?w?printf(_chk)?$ ^(__)?(isoc(99|23)_)?v?sw?scanf$
^(register|parse)_printf ^printf_size ^posix_spawnattr_ ^hcreate ^sched
^(tc|cf)[gsdf] ^(__)?(res_|ns_|nss_|dn_) random ctype locale
^(init|set)state ^(__)?(finite|fpclass|ffs|fdelt|fentry) ^__cxa_ ^__cyg
^__profile ^sig(block|emptyset|isemptyset|fillset) ^swapcontext$ ^timer_
^malloc_ ^create_module$ ^(asc|c|gm|local|mk|strf|strp|s|f|adj|rt)time
^_?(IO|dl)_[^f]
WORDS
)
# Older internals of streams: they work on streams, which are genuine.
not_io="$not_io|^_IO_(fflush|fget|fset|fput|fprintf|ftell|ftry|fwrite)"
not_io="$not_io|^_IO_(feof|ferror|file|flock|flush|free|funlock)"

readelf -W --dyn-syms "$libc" |
	awk '($4 == "FUNC" || $4 == "IFUNC") && $7 != "UND" &&
	     $8 !~ /GLIBC_PRIVATE/ {sub(/@.*/, "", $8); print $8}' |
	sort -u >libc
[ "$(wc -l <libc)" -gt 1000 ] || fail "$libc shows too few functions"
{ grep -E "$io" libc | grep -vE "$not_io"; grep -x '_IO_popen' libc || :; } |
	sort -u >expected

sed -n 's/^SPW_SYM(\([A-Za-z0-9_]*\), \([a-z]*\))$/\1 \2/p' "$table" >entries
! grep -n '^SPW_SYM' "$table" |
	grep -v ':SPW_SYM([A-Za-z0-9_]*, [a-z]*)$' || fail "lines of another form"
! cut -d ' ' -f 1 entries | sort | uniq -d | grep . || fail "named twice"
! grep -vE ' (accelerate|observe|leave|ignore|api)$' entries || fail "no such class"

cut -d ' ' -f 1 entries | sort >named
comm -23 expected named >missing
[ ! -s missing ] || { cat missing; fail "not in symbols.h: $(wc -l <missing)"; }
echo "$(wc -l <expected) I/O symbols of $libc, $(wc -l <named) in the table"
