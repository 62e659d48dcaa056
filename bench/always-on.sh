#!/bin/bash
# The cost of recording a whole host all the time, in turns with perf and with nothing, beside a host's usual work: a database, process
# starts and a build.
#
#   bench/always-on.sh [SECONDS [ROUNDS]]     of each recorder (60, 1), beside STARTS process starts a second (100)
#   bench/always-on.sh 600 6                  an hour of each, in eight hours; needs 3 GB in TMPDIR for perf's files
#   TURNS=FILE                                appends the turns to FILE, and prints the sums of all in it: for an hour in several runs
#
# Prints each turn to standard error, and at last a table of sums: CPU of the recorder with its helpers and start-up, of BPF and the BPF
# programs' runs, the largest memory of all its processes together, the size of its file in an hour at that rate, and the work that was done meanwhile:
# pgbench's transactions a second, with the difference to turns without a recorder, and compilations.
# Needs root, BPF, cgroup v2, perf, and PostgreSQL with pgbench.
# shellcheck disable=SC2002,SC2015,SC2046
set -u
cd "$(dirname "$0")/.." || exit
export O=${O:-build} seconds=${1:-60} starts=${STARTS:-100}
rounds=${2:-1} recorder=$(realpath "$O/stackreel-record")
postgres=$(compgen -G '/usr/lib/postgresql/*/bin/' | tail -n 1)
for program in "${postgres}initdb" pgbench perf runuser; do
    command -v "$program" >/dev/null || { echo "$0: no $program" >&2; exit 77; }
done
work=$(mktemp -d "${TMPDIR:-/var/tmp}/stackreel-always.XXXXXX") || exit 1
turns=${TURNS:-$work/turns}
cgroup=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)/stackreel-bench.$$
mkdir "$cgroup" 2>/dev/null && [ -r "$cgroup/cpu.stat" ] || { echo "$0: needs root and cgroup v2" >&2; exit 77; }
stats=/proc/sys/kernel/bpf_stats_enabled
before=$(cat $stats)
trap 'echo "$before" >$stats; database pg_ctl stop -m immediate >/dev/null; rmdir "$cgroup"*; rm -rf "$work"' EXIT
echo 1 >$stats

# database PROGRAM ARGUMENT...: as nobody, like the server
database() { (cd "$work/database" && runuser -u nobody -- env PATH="$postgres:$PATH" PGHOST="$PWD" PGDATA=data "$@" 2>&1); }
chmod 711 "$work"
install -d -o nobody "$work/database"
{ database initdb && database pg_ctl start -w -l log -o "-k $work/database -h '' -c fsync=off" && database pgbench -q -i -s 10 postgres; } >"$work/err" ||
    { cat "$work/err" >&2; exit 1; }

# used: seconds of CPU of all that ran in the group
used() { awk '$1 == "usage_usec" { printf "%.3f", $2 / 1e6 }' "$1/cpu.stat"; }

# load: process starts, and compilations of one file, whose number it leaves in $work/compiled
load() {
    local end=$((SECONDS + seconds + 2)) n=0
    python3 - "$starts" $((seconds + 2)) <<'END' &
import subprocess, sys, time
rate, end = float(sys.argv[1]), time.monotonic() + float(sys.argv[2])
programs = [["true"], ["sh", "-c", ":"], ["head", "-c1", "/dev/null"], ["env"], ["cc", "--version"]]
at, n = time.monotonic(), 0
while at < end:
    subprocess.run(programs[n % len(programs)], stdout=subprocess.DEVNULL)
    n += 1
    # A host that is too busy starts fewer.
    at = max(at + 1 / rate, time.monotonic() - 0.5)
    time.sleep(max(0, at - time.monotonic()))
END
    database pgbench -n -c 1 -T "$seconds" postgres | awk '$1 == "tps" { print $3 }' >"$work/transactions" &
    while [ "$SECONDS" -lt "$end" ]; do
        cc -O2 -g -x c -c -o "$work/compiled.o" tests/programs/busy.c
        n=$((n + 1))
    done
    wait
    echo $n >"$work/compiled"
}

# look: ns of its BPF programs and kB of memory, while the recorder still runs
look() {
    local pids
    mapfile -t pids <"$cgroup/cgroup.procs"
    cat $(printf '/proc/%s/fdinfo/* ' "${pids[@]}") 2>/dev/null |
        awk '$1 == "prog_id:" { id = $2 } $1 == "run_time_ns:" { ns[id] = $2 } END { for (id in ns) sum += ns[id]; printf "%.3f ", sum / 1e9 }'
    cat $(printf '/proc/%s/smaps_rollup ' "${pids[@]}") 2>/dev/null | awk '$1 == "Pss:" { sum += $2 } END { printf "%.0f\n", sum / 1024 }'
}

# turn NAME COMMAND...: one recorder beside the load; a line of the table
turn() {
    local name=$1 pid='' bpf=0 memory=0 first
    shift
    rm -f "$work/out"
    load &
    sleep 1
    first=$(used "$cgroup")
    if [ $# -gt 0 ]; then
        sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$cgroup" "$@" >/dev/null 2>"$work/err" &
        pid=$!
    fi
    sleep "$seconds"
    if [ -n "$pid" ]; then
        read -r bpf memory < <(look)
        kill -INT $pid
        wait $pid
    fi
    wait
    if [ -n "$pid" ] && [ ! -s "$work/out" ] || [ ! -s "$work/transactions" ]; then
        echo "$0: this turn failed and does not count: $name: $(tail -n 1 "$work/err")" >&2
        return
    fi
    echo "$name $seconds $(used "$cgroup") $first $bpf $memory $(stat -c %s "$work/out" 2>/dev/null || echo 0) $(cat "$work/compiled" "$work/transactions" | xargs)" |
        tee -a "$turns" >&2
}

for _ in $(seq "$rounds"); do
    turn nothing
    for hz in 19 49 99; do
        turn "-a_-F_$hz" "$recorder" -q -a -F $hz -o "$work/out"
        turn "perf_-a_-g_-F_$hz" perf record -q -a -g -F $hz -o "$work/out"
    done
    turn "-a_-g_-F_99" "$recorder" -q -a -g -F 99 -o "$work/out"
done
awk '
    !($1 in cpu) { names[n++] = $1 }
    {
        time[$1] += $2; cpu[$1] += $3 - $4; bpf[$1] += $5; if ($6 > memory[$1]) memory[$1] = $6
        bytes[$1] += $7; compiled[$1] += $8; transactions[$1] += $9 * $2
    }
    END {
        print "| recorder | minutes | CPU, s | BPF, s | both, % of a CPU | memory, MB | MB an hour | pgbench, tps | difference | compilations an hour |"
        print "|---|---|---|---|---|---|---|---|---|---|"
        tps = transactions["nothing"] / time["nothing"]
        for (i = 0; i < n; i++) {
            name = text = names[i]
            seconds = time[name]
            gsub("_", " ", text)
            printf "| %s | %.0f | %.2f | %.2f | %.2f | %d | %.1f | %.0f | %+.1f %% | %.0f |\n", text, seconds / 60, cpu[name], bpf[name],
                100 * (cpu[name] + bpf[name]) / seconds, memory[name], bytes[name] / seconds * 3600 / 1e6, transactions[name] / seconds,
                100 * transactions[name] / seconds / tps - 100, compiled[name] / seconds * 3600
        }
    }' "$turns"
