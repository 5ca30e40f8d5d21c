#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# program-sqlite.sh -- SQLite in all journal modes, one process and several

. tests/functions.sh
. "$srcdir/program-functions.sh"
requires sqlite3 --version

rows=3000
is_long && rows=100000

script()
{
	cat <<-SQL
	PRAGMA journal_mode=$1;
	CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);
	CREATE INDEX i ON t(b);
	BEGIN;
	WITH RECURSIVE c(x) AS
		(SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < $rows)
		INSERT INTO t SELECT x, hex(x * 7919) FROM c;
	COMMIT;
	BEGIN;
	UPDATE t SET b = 'taken back';
	ROLLBACK;
	UPDATE t SET b = 'x' || a WHERE a % 3 = 0;
	DELETE FROM t WHERE a % 7 = 0;
	VACUUM;
	SELECT count(*), sum(a), sum(length(b)) FROM t;
	PRAGMA integrity_check;
	SQL
}

for mode in delete truncate persist wal; do
	script $mode >script.$mode
	input=script.$mode
	twins sqlite3 $mode.db
	counter_above bytes_absorbed 100000
	[ $mode != wal ] || bypassed mmap	# its index is shared memory
done
input=/dev/null
rm plain/persist.db-journal spilled/persist.db-journal	# holds a nonce
same_trees

# Several writers at once: each finds what the others have committed.
cat >several <<'SCRIPT'
sqlite3 $1.db "PRAGMA journal_mode=$1; CREATE TABLE t(p, n, u UNIQUE);"
for p in 1 2 3 4; do
	(for n in 1 2 3 4 5 6 7 8; do
		echo "PRAGMA busy_timeout=60000; PRAGMA synchronous=NORMAL;"
		echo "INSERT INTO t VALUES($p, $n, $p * 100 + $n);"
	done | sqlite3 $1.db >/dev/null || echo "writer $p failed") &
done
wait
sqlite3 $1.db "SELECT count(*), sum(u) FROM t; PRAGMA integrity_check"
SCRIPT
for mode in delete wal; do
	rm -rf plain spilled
	twins bash ../several $mode
	counter_above bytes_absorbed 1000
	for at in plain spilled; do
		sqlite3 $at/$mode.db 'SELECT * FROM t ORDER BY p, n' >$at.rows
	done
	same_bytes plain.rows spilled.rows
done
