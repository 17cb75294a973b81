# needs: sqlite3 sqlite3
# also: run
# also: call
# reads: wal.db plain.db
# writes: wal.db plain.db dump.sql
# any: wal.db*
# Databases with a journal, with a write-ahead log mapped by several writers at once, a dump, a back-up, a roll-back.
set -eu
sqlite3 plain.db 'create table t(a integer primary key, b text);'
sqlite3 plain.db "with recursive n(x) as (values(1) union all select x+1 from n where x<5000) insert into t select x, 'row ' || x from n;"
sqlite3 plain.db 'begin; delete from t where a > 100; rollback; select count(*) from t;'
sqlite3 wal.db 'pragma journal_mode=wal; create table t(a, b);'
for writer in 1 2 3 4; do
    for i in $(seq 1 25); do echo "insert into t values($writer, $i);"; done | sqlite3 -cmd '.timeout 20000' wal.db &
done
wait
sqlite3 wal.db 'select a, count(*), sum(b) from t group by a order by a;'
sqlite3 -readonly wal.db 'select count(*) from t;'
sqlite3 wal.db 'pragma wal_checkpoint(truncate);' >/dev/null
sqlite3 -cmd 'pragma mmap_size=10000000' plain.db 'select sum(length(b)) from t;'
sqlite3 plain.db .dump >dump.sql
sqlite3 many.db <dump.sql
sqlite3 many.db "create index i on t(b); vacuum; select b from t where b = 'row 77'; pragma integrity_check;"
sqlite3 plain.db '.backup copy.db'
sqlite3 copy.db 'select count(*) from t;'
sqlite3 plain.db 'attach "many.db" as m; select count(*) from t join m.t as o using (a);'
sqlite3 -csv plain.db 'select * from t limit 3;' >rows.csv
sqlite3 many.db '.mode csv' '.import rows.csv imported' 'select * from imported;'
sqlite3 plain.db 'select nonsense;' 2>/dev/null || echo "sqlite3 ended with $?"
