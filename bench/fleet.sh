#!/bin/bash
# Adds up a fleet's captures with one and with several workers: compares the profiles, and measures time and memory. Then exports them to
# Parquet, asks DuckDB the questions of docs/queries/ on two CPUs, and exports a share in other formats.
#
#   bench/fleet.sh [CAPTURES [SAMPLES]]     default: 1000 captures of 100,000 samples each
#
#   FOLDER=DIR   keep the captures in DIR and reuse them (default: a temporary folder)
#   KINDS=N      make only the first N captures, and copy them for the others (default: each is made). Tables then have file_ids and stacks
#                of N captures; wakers.sql joins all copies of a capture
#   ONLY=tables  leave out the profiles
#   SHARE=N      captures to export in other formats as well (default: a 20th). NDJSON has 5 kB a sample: 25 GB of 5 x 10^6
#
# Records programs of this host, ten seconds each. Each capture is a different window of one of these recordings, packed with the parts of
# its modules that it needs, and repeated to its length. So the captures differ in their stacks, but real ones of that length would have
# more distinct stacks. Needs what recording needs; for DuckDB, what `npm ci --ignore-scripts' installs in tests/npm.
set -eu
cd "$(dirname "$0")/.."
O=$(realpath "${O:-build}") captures=${1:-1000} samples=${2:-100000} here=$PWD
stackreel=$O/stackreel
work=$(mktemp -d "${TMPDIR:-/var/tmp}/stackreel-fleet.XXXXXX")
folder=${FOLDER:-$work/captures}
trap 'rm -rf "$work"' EXIT
mkdir -p "$folder"
make -s O="$O" "$O/bench/repeat" "$O/bench/measure"
cd "$work"

# ---- captures --------------------------------------------------------------------------------

programs=(
    "xz -9e -T1 -k -c $O/stackreel"
    "gcc -O2 -x c -S -o /dev/null -I$here $here/cli/session/options.c"
    "python3 -m compileall -q -f $(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')/asyncio"
    "perl -e 'my %h; for (1 .. 400000) { \$h{\$_ % 9999} .= \"x\$_\" } print length join \",\", map { \$h{\$_} } sort keys %h'"
    "sqlite3 :memory: 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 400000) select count(distinct i * 7 % 9973), sum(length(hex(i))) from n'"
    "git -C $here log --stat -n 300"
    "openssl speed -seconds 1 sha256 rsa2048"
)

# record NUMBER FILE: records a program, run repeatedly for ten seconds.
record() {
    "$O/stackreel-record" -q --duration 10 -o raw -- bash -c "while :; do ${programs[$1]} >/dev/null 2>&1; done"
    "$stackreel" pack -q -o "$2" raw
}

# make_capture NUMBER BASE: cuts two to eight seconds from a recording.
make_capture() {
    local from length n
    from=$(($1 * 7919 % 2000)) length=$((2000 + $1 * 104729 % 6000))
    "$stackreel" cut -q --time "${from}ms..$((from + length))ms" -o cut "$2"
    n=$("$stackreel" aggregate -q cut | sed -n 's/^recorded\t//p')
    "$O/bench/repeat" $(((samples + n - 1) / n)) cut "$folder/$1.reel"
}

kinds=${KINDS:-$captures}
for ((i = 0; i < captures; i++)); do
    [ ! -e "$folder/$i.reel" ] || continue
    if ((i >= kinds)); then
        cp "$folder/$((i % kinds)).reel" "$folder/$i.reel"
        continue
    fi
    base=$folder/base.$((i % ${#programs[@]}))
    [ -e "$base" ] || record $((i % ${#programs[@]})) "$base"
    make_capture "$i" "$base"
done
seq -f "$folder/%g.reel" 0 $((captures - 1)) >list

# ---- workers ------------------------------------------------------------------------------------

# worker PART PARTS [OPTION...]: writes a line of measure to took.PART.
worker() {
    local part=$1 parts=$2
    shift 2
    "$O/bench/measure" "took.$part" "$stackreel" aggregate -q -j 1 --shard "$part/$parts" -o "part.$part" "$@"
}

# workers N [OPTION...]: runs N in parallel, then adds up their profiles; the total must equal one worker's.
workers() {
    local n=$1 i begin end pids=()
    shift
    rm -f part.* took.*
    begin=$(date +%s.%N)
    for ((i = 1; i <= n; i++)); do
        worker "$i" "$n" "$@" &
        pids+=($!)
    done
    for i in "${pids[@]}"; do wait "$i"; done
    "$stackreel" aggregate -q -o sum part.*
    end=$(date +%s.%N)
    [ -e whole ] || cp sum whole
    cmp whole sum
    cat took.* | awk -v n="$n" -v begin="$begin" -v end="$end" -v samples="$(sed -n 's/^recorded\t//p' sum)" '
        { cpu += $2 + $3; if ($4 > peak) peak = $4 }
        END { printf "%8d  %8.1f s  %8.1f s  %9.0f  %9.0f  %6.1f MB\n", n, end - begin, cpu, samples / (end - begin), samples / cpu, peak / 1024 }'
}

profiles() {
    local head n one
    head='workers      wall       CPU  samples/s  per CPU s  peak of one'
    echo "$(wc -l <list) captures, $(du -scL --bytes $(cat list) | awk 'END { printf "%.1f", $1 / 1e6 }') MB"
    echo "by captures: $head"
    for n in 1 2 4; do workers $n --files-from list; done
    echo "the profile: $(stat -c %s whole) bytes, $(zstd -q -c whole | wc -c) with zstd; $(grep -c '^function' whole) functions, $(grep -cE '^[0-9]+ [0-9]+ ' whole) stacks"
    mv whole all
    for n in 10 100; do
        [ "$n" -lt "$captures" ] || continue
        head -n "$n" list >some
        rm -f whole
        echo "only the first $n: $head"
        workers 1 --files-from some
    done
    rm -f whole
    echo "one capture, split by blocks: $head"
    one=$(ls -S $(cat list) | head -n 1)
    for n in 1 2 4; do workers $n "$one"; done
    echo "profiles, added up: $(for ((i = 0; i < 100; i++)); do cp all "all.$i"; done; "$O/bench/measure" took "$stackreel" aggregate -q -o sum all.*; awk '{ printf "100 of that size in %.2f s, %.1f MB", $1, $4 / 1024 }' took)"
}
[ "${ONLY:-}" = tables ] || profiles

# ---- tables -------------------------------------------------------------------------------------

# The commands of docs/fleet.md.
mkdir fleet share
# shellcheck disable=SC2016 # for sh
"$O/bench/measure" took.fleet xargs -n 100 -P 2 sh -c 'exec "$0" export -q -j 1 --format=parquet "$@" -o "fleet/$(basename "$1" .reel)"' "$stackreel" <list
head -n "${SHARE:-$(((captures + 19) / 20))}" list >some
for format in parquet sqlite ndjson; do
    "$O/bench/measure" "took.$format" xargs -x -a some "$stackreel" export -q -j 1 --format=$format -o "share/$format"
done
echo "tables, fleet of all captures, the others of $(wc -l <some): CPU, peak of one, size"
for what in fleet share/parquet share/sqlite share/ndjson; do
    awk -v name="$what" -v size="$(du -sb "$what" | cut -f 1)" \
        '{ printf "%-14s  %8.1f s  %6.1f MB  %8.1f MB\n", name, $2 + $3, $4 / 1024, size / 1e6 }' "took.${what#*/}"
done
export NODE_PATH=$here/tests/npm/node_modules
cd "$here/docs/queries"
node "$here/bench/fleet.js" "$work" duckdb.sql callers.sql captures.sql containers.sql folded.sql hottest.sql hours.sql incomplete.sql library.sql minute.sql regression.sql self.sql total.sql traces.sql wakers.sql
echo "self.sql of the share, in SQLite, and in DuckDB from NDJSON and Parquet:"
python3 -c '
import resource, sqlite3, sys
sqlite3.connect(sys.argv[1]).execute(open("self.sql").read()).fetchall()
used = resource.getrusage(resource.RUSAGE_SELF)
print("%.2f s of CPU, %.0f MB" % (used.ru_utime + used.ru_stime, used.ru_maxrss / 1024))' "$work/share/sqlite"
frames="SELECT *, 1 AS samples, frames[1].function AS function, frames[1].module AS module FROM read_json('share/ndjson', format = 'newline_delimited')"
echo "CREATE VIEW samples AS $frames" >"$work/ndjson.sql"
node "$here/bench/fleet.js" "$work" "$work/ndjson.sql" self.sql
echo "CREATE VIEW samples AS FROM 'share/parquet/samples.parquet'" >"$work/parquet.sql"
node "$here/bench/fleet.js" "$work" "$work/parquet.sql" self.sql
