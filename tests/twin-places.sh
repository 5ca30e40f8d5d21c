#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-places.sh -- working directories, umask, rights, and another root

. tests/functions.sh
requires python3 --version

cat >places.py <<'PROGRAM'
import os, sys

def attempt(what, f):
    try:
        print(what, f())
    except OSError as e:
        print(what, e.strerror)

def put(name, text, flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode=0o666,
        **how):
    fd = os.open(name, flags, mode, **how)
    n = os.write(fd, text)
    os.close(fd)
    return n

def get(name):
    fd = os.open(name, os.O_RDONLY)
    text = os.read(fd, 100000)
    os.close(fd)
    return len(text), text[:20]

for mask in 0o000, 0o022, 0o077, 0o277:
    os.umask(mask)
    attempt("mask %o" % mask, lambda: put("mask%o" % mask, b"m" * 5000))
    print(oct(os.stat("mask%o" % mask).st_mode))
os.umask(0o022)

os.mkdir("one")
os.mkdir("one/two")
os.chdir("one")
put("two/relative", b"from one")
top = os.open("..", os.O_RDONLY)
two = os.open("two", os.O_RDONLY)
os.fchdir(two)
print(get("relative"))
put("../up", b"upwards")
put("at", b"by directory", dir_fd=top)
os.fchdir(top)
print(get("one/up"), get("at"), get("one/two/relative"))
os.rename("one", "moved")
os.fchdir(two)
put("relative", b" and more", os.O_WRONLY | os.O_APPEND)
os.fchdir(top)
print(get("moved/two/relative"))

outside = os.environ["OUTSIDE"] + "/linked"
put("linked", b"l" * 5000)
os.link("linked", outside)
print(get(outside))
put(outside, b"from outside", os.O_WRONLY | os.O_APPEND)
print(os.stat("linked").st_size, get("linked"))
os.unlink(outside)

put("readonly", b"cannot be changed", mode=0o444)
attempt("readonly", lambda: put("readonly", b"x", os.O_WRONLY))
attempt("readonly", lambda: get("readonly"))
fd = os.open("born-readonly", os.O_RDWR | os.O_CREAT, 0o400)
print(os.write(fd, b"first and last"), os.pread(fd, 5, 0))
os.close(fd)
put("changed", b"c" * 9000)
fd = os.open("changed", os.O_RDWR)
os.chmod("changed", 0o400)
print(os.pwrite(fd, b"later", 100), os.pread(fd, 5, 100))
os.close(fd)
os.mkdir("closed")
put("closed/in", b"inside")
os.chmod("closed", 0o555)
attempt("new", lambda: put("closed/new", b"x"))
attempt("old", lambda: put("closed/in", b"inside again"))
attempt("unlink", lambda: os.unlink("closed/in"))
attempt("read", lambda: get("closed/in"))
os.chmod("closed", 0o755)

if len(sys.argv) > 1 and os.geteuid() == 0:
    put("moved/before", b"before chroot")
    pid = os.fork()
    if pid == 0:
        os.chroot("moved")
        os.chdir("/")
        print(get("/before"), get("two/relative"))
        put("/within", b"w" * 5000)
        put("/before", b" and after", os.O_WRONLY | os.O_APPEND)
        print(get("/within"), get("/before"))
        sys.stdout.flush()
        os._exit(0)
    print(os.waitpid(pid, 0)[1])
    print(get("moved/within"), get("moved/before"))
PROGRAM

export OUTSIDE=$scratch/outside
mkdir -m 0777 "$OUTSIDE"

# twin NAME PREFIX... : the program under that prefix.
twin()
{
	local name=$1 delay

	shift
	mkdir "a-$name"
	chmod 0777 "a-$name"
	(cd "a-$name" && plain "$@" python3 -u ../places.py $root) >plain.out
	for delay in 10s 1ms; do
		mkdir "b-$name-$delay"
		chmod 0777 "b-$name-$delay"
		spilled_flags=(--drain-delay $delay)
		(cd "b-$name-$delay" && "$@" "$spillway" run --receipt \
			"$receipt" "${spilled_flags[@]}" -- \
			python3 -u ../places.py $root) >spilled.out
		diff -u plain.out spilled.out ||
			fail "$name with a delay of $delay"
		chmod -R u+rw "a-$name" "b-$name-$delay"
		diff -r "a-$name" "b-$name-$delay" || fail "$name: contents"
		counter_above bytes_absorbed 5000
		counter_is bytes_undrained 0
	done
}

root=
[ "$(id -u)" != 0 ] || root=yes
twin user
if admit_nobody; then
	root=
	twin nobody "${nobody[@]}"
fi
