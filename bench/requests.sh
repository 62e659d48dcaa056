#!/bin/bash
# bench/requests.sh [ROUNDS] - what it costs a sample to look for the request that its thread works for: in the thread's own record
# (OpenTelemetry's OTEP 4947), in the map of OpenTelemetry's eBPF instrumentation (OTEP 4855), and if neither exists. The time is the BPF
# program's, as the kernel counts it (kernel.bpf_stats_enabled), in nanoseconds per sample; recorders take turns. Needs root.
# shellcheck disable=SC2154
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-5}
recorder=$PWD/${O:-build}/stackreel-record
work=$(mktemp -d)
stats=$(sysctl -n kernel.bpf_stats_enabled)
trap 'sysctl -q kernel.bpf_stats_enabled="$stats"; kill $(jobs -p) 2>/dev/null || true; umount "$work/bpf" 2>/dev/null || true; rm -rf "$work"' EXIT
source=$PWD/tests/programs/requests.c
cd "$work"
mkdir bpf
mount -t bpf bpf bpf
sysctl -q kernel.bpf_stats_enabled=1
"${CC:-cc}" -O1 -g -pthread -o requests -Wl,--export-dynamic-symbol=otel_thread_ctx_v1 "$source"
"${CC:-cc}" -O1 -g -pthread -o silent "$source"
"${CC:-cc}" -O1 -g -pthread -DREQUESTS_MAP -o mapped "$source"
./mapped 0 bpf/requests

# per_sample NAME MAP COMMAND...
per_sample() {
    local name=$1 map=$2 pid program best
    "${@:3}" &
    program=$!
    sleep 0.5
    "$recorder" -q -e task-clock -F 4999 --otel-map "$map" -p $program -o a.reel &
    pid=$!
    # Of the BPF program that ran most often: others are of process events. The event is each thread's, so that it does not run for others.
    until best=$(grep -s 'run_cnt:.*[0-9][0-9][0-9]$' /proc/$pid/fdinfo/* | sort -nk2 | tail -n 1 | cut -d: -f1) && [ -n "$best" ]; do
        kill -0 $pid && sleep 0.2
    done
    for _ in {1..15}; do
        sleep 0.2
        awk '$1 == "run_time_ns:" { time = $2 } $1 == "run_cnt:" { print time, $2 }' "$best"
    done | awk 'NR > 1 && $2 >= n + 50 { printf "%.0f\n", ($1 - time) / ($2 - n) } { time = $1; n = $2 }' >>"$name.times"
    kill -INT $pid
    wait $pid || true
    kill $program
    wait $program 2>/dev/null || true
}

for ((i = 0; i < rounds; i++)); do
    per_sample none none ./silent 60
    per_sample neither "$work/bpf/requests" ./silent 60
    per_sample record none ./requests 60
    per_sample map "$work/bpf/requests" ./mapped 60 bpf/requests
done
# In windows of a fifth of a second: others on the host only add to the time.
for name in none neither record map; do
    sort -n "$name.times" | awk -v name=$name '{ t[NR] = $1 }
        END { printf "%-8s %5d ns per sample (a tenth of %d windows had less; half: %d)\n", name, t[int((NR + 9) / 10)], NR, t[int((NR + 1) / 2)] }'
done
