#!/bin/bash
# The cost of recording threads that wait, to programs that switch as often as they can, beside perf record --off-cpu, and bpftrace, which
# does the same in a script (most distributions build perf without BPF programs: it ignores --off-cpu). Medians of the time of `perf bench
# sched pipe` (two processes that wake each other, on one CPU and before all others) and, with a PostgreSQL server, pgbench's transactions
# per second. The recorders take turns, so that they have the same host.
#
#   bench/waits.sh [ROUNDS]     (8)
#   PGBENCH="-h HOST -p PORT DATABASE"   also pgbench, eight clients, five seconds each
#
# Needs root, BPF and perf.
set -u
cd "$(dirname "$0")/.." || exit
O=$(realpath "${O:-build}") rounds=${1:-8} switches=200000
work=$(mktemp -d "${TMPDIR:-/var/tmp}/stackreel-waits.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
perf bench sched pipe -l 1 >/dev/null 2>&1 || { echo "perf bench sched is not available" >&2; exit 1; }

names=("none" "off-cpu" "off-cpu and cpu-clock, 99 Hz" "off-cpu=all -g, and cpu-clock" "off-cpu=all -g, all waits")
! perf version --build-options 2>/dev/null | grep -q 'bpf_skeletons: \[ on' || names+=("perf --off-cpu -g, 99 Hz")
! command -v bpftrace >/dev/null || names+=("bpftrace, as perf --off-cpu")
# As perf's bpf_skel/off_cpu.bpf.c, with stacks by frame pointers: of each thread that loses its CPU.
cat >"$work/off-cpu.bt" <<'BPFTRACE'
tracepoint:sched:sched_switch {
	$began = @began[args->next_pid];
	if ($began && nsecs - $began >= 10000) {
		@waits[@kernel[args->next_pid], @user[args->next_pid], args->next_comm] = sum(nsecs - $began);
	}
	delete(@began[args->next_pid]);
	@began[args->prev_pid] = nsecs;
	@kernel[args->prev_pid] = kstack;
	@user[args->prev_pid] = ustack;
}
BPFTRACE
# start NUMBER: starts this recorder in the background; sets $recorder and $file
start() {
    recorder='' file=$work/file
    rm -f "$file"
    case ${names[$1]} in
    none) return ;;
    off-cpu) "$O/stackreel-record" -q -a -e off-cpu -o "$file" -- sleep 600 & ;;
    "off-cpu and"*) "$O/stackreel-record" -q -a --off-cpu -F 99 -o "$file" -- sleep 600 & ;;
    *"cpu-clock") "$O/stackreel-record" -q -a --off-cpu=all -g -F 99 -o "$file" -- sleep 600 & ;;
    *"all waits") "$O/stackreel-record" -q -a --off-cpu=all --min-block 0us --max-rate none -g -F 99 -o "$file" -- sleep 600 & ;;
    perf*) perf record -q -a -g -F 99 --off-cpu -o "$file" -- sleep 600 >/dev/null 2>&1 & ;;
    bpftrace*) bpftrace -o "$file" "$work/off-cpu.bt" >/dev/null 2>&1 & ;;
    esac
    recorder=$!
    sleep 1.5
}
stop() {
    [ -n "$recorder" ] || return
    kill -INT "$recorder"
    wait "$recorder" 2>/dev/null
}

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

for round in $(seq "$rounds"); do
    # Each begins a round as often as the others: a database gets faster with time.
    for turn in "${!names[@]}"; do
        i=$(((round + turn) % ${#names[@]}))
        start $i
        chrt -f 10 taskset -c $(($(nproc) - 1)) perf bench sched pipe -l $switches 2>/dev/null | awk '/Total time/ { print $3 }' >>"$work/pipe.$i"
        if [ -n "${PGBENCH-}" ]; then
            # shellcheck disable=SC2086
            pgbench -n -c 8 -j 2 -T 5 $PGBENCH 2>/dev/null | awk '/^tps/ { print $3 }' >>"$work/pgbench.$i"
        fi
        stop
        [ ! -e "$work/file" ] || stat -c %s "$work/file" >>"$work/bytes.$i"
    done
done
for i in "${!names[@]}"; do
    pipe=$(median "$work/pipe.$i") base=$(median "$work/pipe.0")
    printf '%-30s pipe %6.2f s (%.3f)' "${names[i]}" "$pipe" "$(awk -v a="$pipe" -v b="$base" 'BEGIN { print a / b }')"
    if [ -s "$work/pgbench.$i" ]; then
        tps=$(median "$work/pgbench.$i") base=$(median "$work/pgbench.0")
        printf '   pgbench %7.0f tps (%.3f)' "$tps" "$(awk -v a="$tps" -v b="$base" 'BEGIN { print a / b }')"
    fi
    [ ! -s "$work/bytes.$i" ] || printf '   file %d bytes' "$(median "$work/bytes.$i")"
    echo
done
