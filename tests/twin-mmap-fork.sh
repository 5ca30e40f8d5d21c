#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# twin-mmap-fork.sh -- a child's mapping keeps the file with the kernel after
# its parent has ended

. tests/functions.sh
requires python3 -c ''

cat > ../map.py <<'E'
import ctypes, os, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
f = open('data', 'w+b')
f.write(b'a' * 8192)
f.flush()
m = libc.mmap(None, ctypes.c_size_t(8192), 1, 1, f.fileno(),
	      ctypes.c_long(0))
f.close()		# Python's own mmap would keep a descriptor
if os.fork():
	os._exit(0)
open('ready', 'w').close()
while not os.path.exists('written'):
	time.sleep(0.01)
open('seen.new', 'wb').write(ctypes.string_at(m + 5000, 1))
os.rename('seen.new', 'seen')
E

cat > ../write.py <<'E'
import os, time
f = open('data', 'r+b', 0)
f.seek(4096)
f.write(b'd' * 4096)
open('written', 'w').close()
while not os.path.exists('seen'):
	time.sleep(0.01)
E

# The pause is for the parent's record in the segment to go.
cat > ../both.sh <<'E'
cd "$1"
python3 "$2/map.py"
until [ -e ready ]; do sleep 0.01; done
sleep 0.7
python3 "$2/write.py"
E

mkdir plain spilled
plain timeout 60 bash ../both.sh plain "$scratch"
spilled_flags=(--drain-delay 10s)	# what the child sees is not from home
spilled timeout 60 bash ../both.sh spilled "$scratch"
same_bytes plain/data spilled/data
same_bytes plain/seen spilled/seen
