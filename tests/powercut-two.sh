#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# powercut-two.sh -- what was fsynced into one of two tiers survives a power cut

. tests/functions.sh
. "$srcdir/powercut-tiers"

campaign 2 "ram@1M bb:$tier@256K nvme:$other_tier@4M"
