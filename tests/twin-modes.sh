#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-modes.sh -- read-only and set-id files come home with their rights

. tests/functions.sh
requires python3 --version

# A mode set behind our back, by somebody else while the file is open.
cat >secretly.py <<'PROGRAM'
import os, time
with open("secret", "wb", buffering=0) as f:
    f.write(b"x" * 5000)
    while os.fstat(f.fileno()).st_mode & 0o777 != 0o400:
        time.sleep(0.01)
PROGRAM

# Set-id bits go with the next write of who is not the superuser.
cat >setid.py <<'PROGRAM'
import os
def mode():
    print("%o" % os.stat("setid").st_mode)
with open("setid", "r+b", buffering=0) as f:
    mode()
    f.write(b"once"); mode()
    os.fchmod(f.fileno(), 0o6755); mode()
    f.write(b"twice"); mode()
    os.fsync(f.fileno()); mode()
PROGRAM

# So they do with that of a superuser who may not keep them.
cat >unkept.sh <<'PROGRAM'
drop=(setpriv --inh-caps=-fsetid --bounding-set=-fsetid)
"${drop[@]}" true 2>/dev/null || exec python3 ../setid.py
exec "${drop[@]}" python3 ../setid.py
PROGRAM

# So do capabilities, whoever writes.
cat >capable.py <<'PROGRAM'
import os
def look():
    print("security.capability" in os.listxattr("capable"))
def give(file):
    try:
        os.setxattr(file, "security.capability",
                    bytes([1, 0, 0, 2, 0, 4] + [0] * 14))
    except OSError as e:
        print(e)
    look()
with open("capable", "wb", buffering=0) as f:
    f.write(b"x" * 5000)
    give(f.fileno())
    f.write(b"y"); look()
give("capable")
for flags in os.O_RDONLY, os.O_RDWR, os.O_WRONLY | os.O_CREAT:
    with open(os.open("capable", flags), "rb", buffering=0) as f:
        look()
        if flags != os.O_RDONLY:
            os.write(f.fileno(), b"z"); look()
PROGRAM

# A right that was given up does not come back while the bytes go home.
cat >given-up.py <<'PROGRAM'
import os, threading
over, seen = False, set()
def look():
    while not over:
        seen.add(oct(os.fstat(fd).st_mode))
fd = os.open("given-up", os.O_RDWR | os.O_CREAT, 0o444)
thread = threading.Thread(target=look)
thread.start()
for i in range(200):
    new = os.open("given-up%d" % i, os.O_RDWR | os.O_CREAT, 0o644)
    os.fchmod(new, 0o444)
    os.dup2(new, fd)
    os.write(new, b"x" * 100)
    os.fsync(new)
    os.close(new)
over = True
thread.join()
print(seen)
PROGRAM

cat >steps.sh <<'STEPS'
set -e
put()
{
	dd if=/dev/zero of="$1" bs=500 count="$2" 2>/dev/null
}

put readonly 10
chmod 0444 readonly
put nothing 12
chmod 0 nothing
put setid 14
chmod 6755 setid
python3 ../setid.py
chmod 6755 setid
bash ../unkept.sh
chmod 6755 setid
install -m 0555 /bin/true program 2>/dev/null
cp -p program copy
python3 ../secretly.py
python3 ../capable.py
python3 ../given-up.py
STEPS

change_secretly()
{
	for ((i = 0; i < 600; i++)); do
		[ ! -e "$1" ] || break
		sleep 0.05
	done
	sleep 0.2
	chmod 0400 "$1"
}

# twin NAME COMMAND...: the steps, plain and spilled, run by the command.
twin()
{
	local name=$1

	shift
	rm -rf a b
	mkdir a b
	chmod 0777 a b
	change_secretly a/secret &
	(cd a && plain "$@" bash ../steps.sh) >plain.out
	wait $!
	change_secretly b/secret &
	(cd b && spilled_by "$@") >spilled.out
	wait $!
	diff -u plain.out spilled.out || fail "$name: other modes were seen"
	counter_above bytes_absorbed 10000
	for file in readonly nothing setid program copy secret; do
		same_stat a/$file b/$file
		[ ! -r a/$file ] || same_bytes a/$file b/$file
	done
}

spilled_by()
{
	"$@" "$spillway" run --receipt "$receipt" --drain-delay 10s \
		-- bash ../steps.sh
}

twin user
if admit_nobody; then
	twin nobody "${nobody[@]}"
fi
