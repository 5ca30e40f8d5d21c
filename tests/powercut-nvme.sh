#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# powercut-nvme.sh -- what was fsynced into a log on a disk survives a power cut

. tests/functions.sh
. "$srcdir/powercut-tiers"

campaign 1 "ram@1M nvme:$tier@4M"
