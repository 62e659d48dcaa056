#!/bin/bash
# Makes values.svg for README: SQLite of Debian's source inserts records of three sizes; the stacks of each size. Needs root for BPF.
#
#   O=DIR   the object directory (build)
set -eu
cd "$(dirname "$0")/../.."
O=$(realpath "${O:-build}") root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$root/tests/vm/apt.sh" bookworm source apt-get source -qq --download-only sqlite3
tar -xf sqlite3_*.orig.tar.* --strip-components=1
./configure -q --disable-tcl && make -s sqlite3.c shell.c
gcc -O2 -g -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -o sqlite3 shell.c sqlite3.c -lm
cat >load.sql <<'END'
create table records(content);
begin;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000000) insert into records select 'x' from n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 400000) insert into records select zeroblob(700) from n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 30000) insert into records select zeroblob(40000) from n;
commit;
END
"$O/stackreel-record" --raw-stacks -F 999 -o sqlite.reel -- ./sqlite3 x.db ".read load.sql"
"$O/stackreel" report --by 'sqlite3BtreeInsert:pX->nData' sqlite.reel
"$O/stackreel" flamegraph -q --by 'sqlite3BtreeInsert:pX->nData' --where 'sqlite3BtreeInsert:pX->nData is known' --min-share=1 \
    -o "$root/docs/images/values.svg" sqlite.reel
