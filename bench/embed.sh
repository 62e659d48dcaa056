#!/bin/bash
# The cost of --embed=hits compared with --embed=none, at 999 Hz: CPU time of the recorder with all its helpers, and bytes of the capture.
# Prints one line per workload: name, CPU seconds without and with, percent of a CPU added, bytes without and with, and added bytes as a
# fraction of the bytes without.
#
#   bench/embed.sh [SECONDS [ROUNDS]]     default: 10 seconds, and the median of 3 rounds; alternates between the two
#
# Needs root, BPF and cgroup v2, which also counts the helpers' time.
set -u
cd "$(dirname "$0")/.." || exit
O=${O:-build} seconds=${1:-10} rounds=${2:-3}
recorder=$PWD/$O/stackreel-record here=$PWD
work=$(mktemp -d)
cgroup=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)/stackreel-bench.$$
mkdir "$cgroup" 2>/dev/null && [ -r "$cgroup/cpu.stat" ] || { echo "bench/embed.sh: needs root and cgroup v2" >&2; exit 77; }
program=
trap '[ -z "$program" ] || kill "$program" 2>/dev/null; rmdir "$cgroup"; rm -rf "$work"' EXIT
cd "$work" || exit

median() { sort -g | awk '{ a[NR] = $1 } END { print NR % 2 ? a[(NR + 1) / 2] : (a[NR / 2] + a[NR / 2 + 1]) / 2 }'; }
used() { awk '$1 == "usage_usec" { print $2 / 1e6 }' "$cgroup/cpu.stat"; }

# measure HOW COMMAND...: records a program that is already running, as most programs are when they are recorded
measure() {
    local how=$1 before
    shift
    "$@" >out 2>&1 &
    program=$!
    sleep 0.3
    before=$(used)
    sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$cgroup" "$recorder" -q --embed="$how" --duration "$seconds" -o "$how.reel" -p "$program"
    awk -v a="$before" -v b="$(used)" 'BEGIN { print b - a }' >>"$how.cpu"
    stat -c %s "$how.reel" >>"$how.bytes"
    kill "$program"
    wait "$program"
    program=
} 2>err

for workload in exceptions descent recursion threads python sqlite; do
    read -ra command < <(SECONDS_OF_CPU=$((seconds + 5)) "$here/tests/truth/workloads.sh" "$workload") || continue
    rm -f ./*.cpu ./*.bytes
    for ((i = 0; i < rounds; i++)); do
        measure none "${command[@]}"
        measure hits "${command[@]}"
    done
    awk -v name="$workload" -v s="$seconds" -v a="$(median <none.cpu)" -v b="$(median <hits.cpu)" -v c="$(median <none.bytes)" -v d="$(median <hits.bytes)" \
        'BEGIN { printf "%s\t%.3f\t%.3f\t%.2f\t%d\t%d\t%.2f\n", name, a, b, 100 * (b - a) / s, c, d, (d - c) / c }'
done | tee table
awk -F '\t' '{ sum += log($7 > 0 ? $7 : 0.001); n++ } END { if (n) printf "bytes added, geometric mean\t%.2f of the rest\n", exp(sum / n) }' table
