#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# program-git.sh -- git: add, commit, gc, fsck, clone; the tree stays clean

. tests/functions.sh
. "$srcdir/program-functions.sh"
requires git --version

files=600
is_long && files=10000
export GIT_CONFIG_NOSYSTEM=1 HOME=$scratch files
export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org
export GIT_COMMITTER_NAME=C GIT_COMMITTER_EMAIL=c@example.org
export GIT_AUTHOR_DATE='2020-02-02 02:02:02 +0000'
export GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE

# No gc but when told: it would go on in the background.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=gc.auto GIT_CONFIG_VALUE_0=0

cat >script <<'SCRIPT'
set -e
git -c init.defaultBranch=main init -q repo
cd repo
for ((i = 0; i < files; i++)); do
	((i % 100)) || mkdir -p dir$((i / 100))
	printf 'file %d\n%0*d\n' $i $((i % 997)) $i >dir$((i / 100))/f$i
done
git add .
git commit -q -m one
git status --porcelain
git rev-parse HEAD
git fsck --strict 2>&1
for ((i = 0; i < files; i += 50)); do
	echo more >>dir$((i / 100))/f$i
done
git rm -q dir0/f7
git mv dir0/f8 moved
git status --porcelain | sort
git commit -q -a -m two
git gc -q
git fsck --strict 2>&1
git count-objects -v | sed -n '/^count\|^packs\|^in-pack/p'
git branch side HEAD~1
git checkout -q side
git status --porcelain
git merge -q main
cd ..
git clone -q repo copy
git clone -q --bare "file://$PWD/repo" bare 2>&1
cd copy
git status --porcelain
git fsck --strict 2>&1
git rev-parse HEAD
git log --stat | md5sum
git archive HEAD | md5sum
git stash list
cd ..
git -C repo worktree add -q ../tree main
git -C tree status --porcelain
SCRIPT

twins bash ../script
counter_above bytes_absorbed 10000
# Same work trees; the repositories hold the same objects.
for tree in repo copy tree; do
	diff -r -x .git plain/$tree spilled/$tree || fail "$tree differs"
done
for tree in repo copy bare; do
	for at in plain spilled; do
		git -C $at/$tree cat-file --batch-check --batch-all-objects \
			>$at.objects
		git -C $at/$tree fsck --strict --no-dangling >&2
	done
	same_bytes plain.objects spilled.objects
done
[ -z "$(git -C spilled/copy status --porcelain)" ] || fail "not clean"
