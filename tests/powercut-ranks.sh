#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# powercut-ranks.sh -- ranks that fsync together keep what each was promised

. tests/functions.sh
. "$srcdir/powercut-tiers"

campaign 3 "ram@1M nvme:$tier@8M"
