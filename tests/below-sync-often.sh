#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# below-sync-often.sh -- a program that syncs all the time does not wait for
# home, whenever its bytes go there; and they do go

. tests/functions.sh
requires_disk
requires python3 --version
mkdir "$scratch/tier"

# Appends and syncs; one block is written anew each time.
cat >often.py <<'EOF'
import os, sys
with open(sys.argv[1], "wb", buffering=0) as f:
    for i in range(int(sys.argv[2])):
        os.pwrite(f.fileno(), i.to_bytes(8, "big"), 0)
        os.pwrite(f.fileno(), bytes([i % 251]) * 4096, 4096 * (i + 1))
        os.fsync(f.fileno())
EOF
spilled_flags=(--drain-delay 10ms
	--tiers "ram@64M nvme:$(place "$scratch/tier")@256M")
syncs=2000
plain python3 often.py a $syncs
spilled python3 often.py b $syncs
same_bytes a b
# A few are sent home: when it is not ready, or has had to wait for long, which
# is twenty times the delay.
seconds=$(counter seconds)
counter_above syncs_down $((syncs * 99 / 100 - 10 * (${seconds%.*} + 1)))
counter_above requests_home 20
