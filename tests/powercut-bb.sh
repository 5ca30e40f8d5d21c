#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# powercut-bb.sh -- what was fsynced into a burst buffer survives a power cut

. tests/functions.sh
. "$srcdir/powercut-tiers"

campaign 2 "ram@1M bb:$tier@4M"
