#!/bin/bash
# The cost and the losses of recording, compared with perf record. Prints tab-separated lines: name, ours, perf's, ratio, unit.
#
#   bench/record.sh [ROUNDS]      default: the median of 3 rounds; alternates between ours and perf
#
# Needs root, BPF, perf, and the programs that `make bench-record` builds.  Our recorder does not request build-ids in events, since perf
# 6.1 fails if another recorder does (docs/man/stackreel-record.1, BUGS).
set -u
cd "$(dirname "$0")/.." || exit
O=${O:-build} rounds=${1:-3}
recorder=$PWD/$O/stackreel-record bench=$PWD/$O/bench here=$PWD
work=$(mktemp -d)
cgroup=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)/stackreel-bench.$$
trap 'rmdir "$cgroup"; rm -rf "$work"' EXIT

if [ "$(id -u)" != 0 ] || ! command -v perf >/dev/null; then
    echo "bench/record.sh: needs root and perf" >&2
    exit 77
fi
mkdir "$cgroup" && [ -r "$cgroup/cpu.stat" ] || { echo "bench/record.sh: needs cgroup v2" >&2; exit 77; }
cd "$work" || exit

median() { sort -g | awk '{ a[NR] = $1 } END { print NR % 2 ? a[(NR + 1) / 2] : (a[NR / 2] + a[NR / 2 + 1]) / 2 }'; }
# line NAME UNIT: prints the medians of the numbers in the files `ours` and `peer`
line() {
    awk -v name="$1" -v unit="$2" -v a="$(median <ours)" -v b="$(median <peer)" \
        'BEGIN { printf "%s\t%s\t%s\t%.2f\t%s\n", name, a, b, b ? a / b : 0, unit }'
}

# ---- kernel time ----------------------------------------------------------------------------

# kernel NAME STACK DUMP
kernel() {
    local column time=("$bench/callback" "$bench/callback.bpf.o" bench-stack 1013)
    : >all.ours && : >all.peer
    for ((i = 0; i < rounds; i++)); do
        "${time[@]}" out "$recorder" -q --no-build-id-events -F 1013 -o ours.reel -- "$bench/stack" "$2" 2 && cat out >>all.ours
        "${time[@]}" out perf record -q -B -e cpu-clock:u --call-graph "dwarf,$3" -F 1013 -o perf.data -- "$bench/stack" "$2" 2 \
            >/dev/null 2>&1 && cat out >>all.peer
    done
    for column in "2:timer callback, median" "3:timer callback, mean" "4:with irq_work, mean"; do
        cut -f "${column%%:*}" all.ours >ours
        cut -f "${column%%:*}" all.peer >peer
        line "kernel time a sample, $1, ${column#*:}" ns
    done
}

kernel "0.7 KB of stack, perf dwarf,8192" 200 8192
kernel "36 KB of stack, perf dwarf,65528" 36000 65528

# ---- the recorder's own CPU -----------------------------------------------------------------

used() { awk '$1 == "usage_usec" { print $2 }' "$cgroup/cpu.stat"; }

# own RECORDER... -- COMMAND...: seconds of CPU of all processes of the recorder, without the command; standard error goes to err
own() {
    # shellcheck disable=SC2016
    local words=() inside='echo $$ >"$0/cgroup.procs"; exec "$@"' before
    while [ "$1" != -- ]; do
        words+=("$1")
        shift
    done
    shift
    before=$(used)
    sh -c "$inside" "$cgroup" "${words[@]}" -- sh -c "$inside" "${cgroup%/*}" "$@" >/dev/null 2>err
    awk -v us=$(($(used) - before)) 'BEGIN { printf "%.3f\n", us / 1e6 }'
}

# Startup and shutdown are included in all of the following.
: >ours && : >peer
for ((i = 0; i < rounds; i++)); do
    own "$recorder" --no-build-id-events -o ours.reel -- true >>ours
    own perf record -q -B -z -m 4096 -e cpu-clock:u --call-graph dwarf,65528 -o perf.data -- true >>peer
done
line "recorder CPU, nothing recorded" s

for workload in exceptions recursion threads sqlite cppcheck; do
    # With 6 seconds, cppcheck takes 11.
    [ $workload = cppcheck ] && seconds=5 || seconds=6
    read -ra command < <(SECONDS_OF_CPU=$seconds "$here/tests/truth/workloads.sh" "$workload") || continue
    for hz in 999 4999; do
        : >ours && : >peer && : >lost && : >bare
        for ((i = 0; i < rounds; i++)); do
            own "$recorder" --no-build-id-events -F $hz -o ours.reel -- "${command[@]}" >>ours
            sed -nE 's/.*, ([0-9,]+) lost, .*/\1/p' err | tr -d , >>lost
            own perf record -q -B -z -m 4096 -e cpu-clock:u --call-graph dwarf,65528 -F $hz -o perf.data \
                -- "${command[@]}" >>peer
            own "$recorder" --no-build-id-events --embed=none -F $hz -o ours.reel -- "${command[@]}" >>bare
        done
        line "recorder CPU, $workload, $hz Hz, perf dwarf,65528 -z" s
        cp bare ours
        line "recorder CPU, $workload, $hz Hz, --embed=none, perf dwarf,65528 -z" s
        cp lost ours
        perf report --stats -i perf.data 2>/dev/null | awk '/LOST_SAMPLES events:/ { n = $3 } END { print n + 0 }' >peer
        line "samples lost, $workload, $hz Hz" samples
    done
done

# ---- losses ---------------------------------------------------------------------------------

# losses NAME HZ STACK THREADS: lost samples as a share of all, in the last round
losses() {
    local start end
    start=$(date +%s%N)
    "$recorder" --no-build-id-events -F "$2" -o ours.reel -- "$bench/stack" "$3" 4 "$4" >/dev/null 2>err
    end=$(date +%s%N)
    perf record -q -B -z -m 4096 -e cpu-clock:u --call-graph dwarf,65528 -F "$2" -o perf.data -- "$bench/stack" "$3" 4 "$4" >/dev/null 2>&1
    sed -nE 's/^([0-9,]+) samples.*, ([0-9,]+) lost, .*/\1 \2/p' err | tr -d , |
        awk '{ printf "%.2f\n", 100 * $2 / ($1 + $2) }' >ours
    perf report --stats -i perf.data 2>/dev/null |
        awk '/ SAMPLE events:/ { s = $3 } /LOST_SAMPLES events:/ { l = $3 } END { printf "%.2f\n", s + l ? 100 * l / (s + l) : 0 }' >peer
    line "samples lost, $1" "%"
    sed -nE 's/^([0-9,]+) samples.*/\1/p' err | tr -d , | awk -v ns=$((end - start)) -v stack="$3" \
        '{ printf "through the ring, '"$1"'\t%.0f\t-\t-\tsamples/s\nthrough the ring, '"$1"'\t%.1f\t-\t-\tMB/s\n",
           $1 / ns * 1e9, $1 * (stack + 1000) / ns * 1e3 }'
}

losses "16 threads, 0.7 KB, 4,999 Hz" 4999 200 16
losses "16 threads, 16 KB, 4,999 Hz" 4999 16000 16
losses "16 threads, 0.7 KB, 49,990 Hz" 49990 200 16
losses "16 threads, 16 KB, 49,990 Hz" 49990 16000 16

hogs=()
for _ in 1 2 3 4; do
    "$bench/stack" 200 6 &
    hogs+=($!)
done
"$recorder" --no-build-id-events -a -F 4999 --duration 4 -o ours.reel 2>err
wait "${hogs[@]}"
sed -nE 's/^([0-9,]+) samples.*, ([0-9,]+) lost, .*/\1 \2/p' err | tr -d , |
    awk '{ printf "samples lost, -a, 4 hogs, 4,999 Hz\t%.2f\t-\t-\t%%\n", 100 * $2 / ($1 + $2) }'
