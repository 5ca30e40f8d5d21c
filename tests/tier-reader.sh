#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# tier-reader.sh -- who syncs a file that he only reads leaves nothing in a tier

. tests/functions.sh
requires_disk

echo bytes >file
mkdir "$scratch/place"
spilled_flags=(--tiers "ram@16M nvme:$(place "$scratch/place")@64M")
spilled sync file
[ -z "$(ls "$scratch/place")" ] || fail "left a share"
spilled bash -c 'echo other >file; sync file'
[ -z "$(ls "$scratch/place")" ] || fail "left a share after a write"
[ "$(cat file)" = other ] || fail "$(cat file)"
