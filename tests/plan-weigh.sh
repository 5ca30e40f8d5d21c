#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# plan-weigh.sh -- weights are followed, those of the start and those that a
# program sets later

. tests/functions.sh
"$top_builddir/tests/list-features" | grep '^codec *lzma *yes' >/dev/null ||
	cannot "no lzma in this build"
. "$srcdir/plan-functions.sh"

cat >"$scratch/words" <<'WORDS'
weigh NULL = EINVAL
weigh nonsense = EINVAL
weigh 0.5,0.6,0.1 = EINVAL
weigh archive = 0
close a = 0
WORDS
weigh=(weigh weigh:nonsense weigh:0.5,0.6,0.1 weigh:archive)
packed --weights async -- "${weigh[@]}"
diff -u "$scratch/words" "$scratch/out" || fail "not told so"

# Programs wait for room: what packs best takes a third of a second a MiB, and
# is not worth it, whatever counts.
text=write:a:2000:0:18M:1M
packed --weights async -- $text
async=$stored how=$(cat "$scratch/packed")
packed --weights archive -- $text
archive=$stored
! grep -E 'lzma|zstd=19|brotli=9' "$scratch/packed" || fail "writers wait"
packed --weights async -- "${weigh[@]}" $text
diff -u "$scratch/words" "$scratch/out" || fail "not told so"
echo "async $async:" $how
echo "archive $archive, later $stored:" $(cat "$scratch/packed")
[ $archive -lt $async ] || fail "weights change nothing"
[ $stored -lt $async ] || fail "what the program said was not followed"
