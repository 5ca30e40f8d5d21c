#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# program-shell.sh -- redirections of shells: one position, however it is shared

. tests/functions.sh
. "$srcdir/program-functions.sh"

cat >script <<'SCRIPT'
echo one >a
echo two >>a
(echo three; /bin/echo four; echo five) >b
{ echo six; sed s/t/T/ a; echo seven; } >c
ls nowhere >d 2>&1; echo "status $?" >>d
(echo to-err >&2; echo to-out; ls nowhere) >e 2>&1
cat >f <<HERE
here $((6 * 7))
HERE
cat <<HERE >>f
and there
HERE
exec 3>g 4<b
echo first >&3
read -r line <&4
echo "[$line]" >&3
/bin/echo third >&3
(echo fourth; /bin/echo fifth) >&3
cat <&4 >&3
exec 3>&- 4<&-
n=0
while read -r line; do
	n=$((n + 1))
	echo "$n: $line"
done <g >h
seq 1000 | while read -r i; do echo "line $i"; done >i
for i in 1 2 3 4 5; do echo $i; done >>i
(for i in 1 2 3; do (echo "sub $i" >>j) & done; wait)
sort -o j j
echo shorter >i
exec 5<>k
echo 0123456789 >&5
exec 5<k
read -r line <&5
echo "got $line" >l
exec 5>&-
x=$(cat a; echo in; cat <b)
echo "$x" >m
exec 6>n
echo "a line that is long" >&6
: >n
/bin/echo after >&6
exec 6>&-
{ echo before; (exec /bin/echo exec); echo after; } >o
[ -s a ] && [ -e o ] && [ o -nt nothing ] && echo tests hold
if read -r line <a; then echo "$line"; fi
wc -c a b c d e f g h i j k l m n o
echo direct; /bin/echo to stdout
exec >p
echo builtin; /bin/echo program; (echo subshell)
echo to error >&2
trap 'echo bye' EXIT
SCRIPT

for shell in bash dash; do
	command -v $shell >/dev/null || continue
	rm -rf plain spilled
	twins $shell ../script
	same_trees
done

# Twice standard output, and in between libc wrote by itself.
rm -rf plain spilled
twins bash -c 'exec 3>f; echo a >&3; echo b >&3; printf "%s\n" c d >&3'
same_trees
printf 'a\nb\nc\nd\n' | cmp - spilled/f || fail "lost lines"

# Something here must have been absorbed.
rm -rf plain spilled
twins bash -c 'seq 100000 | tee x y >z; sort -r x -o w; cat w z >v'
same_trees
counter_above bytes_absorbed 100000
