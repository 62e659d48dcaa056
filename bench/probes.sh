#!/bin/bash
# The cost of a probe on malloc to a program that calls it a million times a second: its CPU time per call, beside perf record -g on the
# same probe and bpftrace counting ustack. The recorders take turns, so that they have the same host; medians.
#
#   bench/probes.sh [ROUNDS]     (7)
#
# Needs root, BPF, perf and bpftrace.
set -u
cd "$(dirname "$0")/.." || exit
O=$(realpath "${O:-build}") rounds=${1:-7} calls=1000000
work=$(mktemp -d "${TMPDIR:-/var/tmp}/stackreel-probes.XXXXXX") || exit 1
trap 'perf probe -q --del "reel_bench:*" 2>/dev/null; rm -rf "$work"' EXIT
for tool in perf bpftrace; do
    command -v $tool >/dev/null || { echo "bench/probes.sh: $tool is missing" >&2; exit 77; }
done
cat >"$work/calls.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static volatile unsigned long sum;
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
__attribute__((noinline)) static void work(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sum += i;
}
/* Ten functions deep. */
__attribute__((noinline)) static void call(int depth, unsigned long n)
{
	if (depth) {
		call(depth - 1, n);
	} else {
		void *volatile p = malloc(64);

		work(n);
		free(p);
	}
	__asm__ volatile("");
}
static double seconds(long calls, unsigned long n)
{
	double begin = now();

	while (calls-- > 0)
		call(8, n);
	return now() - begin;
}
/* calls CALLS N: nanoseconds per call with this work; calls: the work for one microsecond. */
int main(int argc, char **argv)
{
	unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0, longer = 1000;

	if (argc > 2) {
		printf("%.0f\n", seconds(atol(argv[1]), n) * 1e9 / (double)atol(argv[1]));
		return 0;
	}
	printf("%.0f\n", (1e-6 - seconds(100000, 0) / 1e5) / (seconds(100000, longer) / 1e5) * (double)longer);
	return 0;
}
C
"${CC:-cc}" -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$work/calls" "$work/calls.c" || exit 1
libc=$(ldd "$work/calls" | awk '/libc\.so/ { print $3 }')
perf probe -q -x "$libc" --add 'reel_bench:malloc=malloc' 2>"$work/err" || { echo "bench/probes.sh: perf probe: $(head -n 1 "$work/err")" >&2; exit 77; }
n=$("$work/calls")

names=("no probe" "stackreel-record, 10,000 samples/s" "stackreel-record --max-rate none" "perf record -g" "bpftrace @[ustack] = count()")
# run NUMBER: the program with this recorder; nanoseconds per call
run() {
    case $1 in
    0) "$work/calls" $calls "$n" ;;
    1) "$O/stackreel-record" -e uprobe:libc:malloc -o "$work/file" -- "$work/calls" $calls "$n" 2>"$work/messages" ;;
    2) "$O/stackreel-record" --max-rate none -e uprobe:libc:malloc -o "$work/file" -- "$work/calls" $calls "$n" 2>"$work/messages" ;;
    3) perf record -g -e reel_bench:malloc -o "$work/file" -- "$work/calls" $calls "$n" 2>"$work/messages" ;;
    4) bpftrace -c "$work/calls $calls $n" -e "uprobe:$libc:malloc /pid == cpid/ { @[ustack] = count(); }" >"$work/file" 2>"$work/messages" && grep -m 1 -xE '[0-9]+' "$work/file" ;;
    esac
}
# kept NUMBER: the number of stacks that it has
kept() {
    case $1 in
    1 | 2) "$O/stackreel" folded -q "$work/file" | awk '{ n += $NF } END { print n + 0 }' ;;
    3) perf script -i "$work/file" -F event 2>/dev/null | grep -c . ;;
    4) sed -nE 's/^\]: ([0-9]+)$/\1/p' "$work/file" | awk '{ n += $1 } END { print n + 0 }' ;;
    esac
}
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

for round in $(seq "$rounds"); do
    for turn in 0 1 2 3 4; do
        i=$(((round + turn) % 5))
        # perf record of 6.1 aborts now and then, if another program has build-id events.
        ns=$(run $i) || { tail -n 1 "$work/messages" >&2; continue; }
        echo "$ns" >>"$work/time.$i"
        [ $i = 0 ] || kept $i >>"$work/kept.$i"
    done
done
echo "$(uname -mr), $(nproc) CPUs, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1); $(perf --version); $(bpftrace --version)"
base=$(median "$work/time.0")
for i in 0 1 2 3 4; do
    ns=$(median "$work/time.$i")
    awk -v name="${names[i]}" -v ns="$ns" -v base="$base" -v kept="$([ $i = 0 ] || median "$work/kept.$i")" 'BEGIN {
        printf "%-36s %6d ns per call (%.2f)", name, ns, ns / base
        if (kept) printf "   %7d stacks", kept
        print "" }'
done
