#!/bin/bash
# Probes of user code and of the kernel on other kernels and CPUs: counts, callers, and return addresses that the kernel replaced.
#   CELLS="…"   the guests; the long form: x86_64-5.10 x86_64-6.1 x86_64-6.12 arm64-6.12
# run.sh: guests thorough shares
# checks: record/probes
. "$(dirname "$0")/../count.sh"

# folded NAME EVENT: chains from main or the thread's function on
folded() { "$O/stackreel" folded -q --symfs "$out" --event "$2" "$out/$1.reel" | sed -E 's/^[^ ]*;(main|calls);/\1;/'; }
total() { "$O/stackreel" folded -q --symfs "$out" --event "$2" "$out/$1.reel" | awk '{ n += $NF } END { print n + 0 }'; }
# labels NAME EVENT: those of each sample, to $work/labels
labels() { "$O/stackreel" script -q --symfs "$out" --fields labels --event "$2" "$out/$1.reel" | grep arg >"$work/labels"; }
# times NAME EVENT N
times() {
    [ "$(total "$1" "$2")" = "$3" ]
    count $? "$cell: $2: $(total "$1" "$2") samples, not $3: $(tail -n 1 "$out/$1.log")"
}

number=0
for cell in ${CELLS:-x86_64-5.10 arm64-6.12}; do
    in_share $((number++)) || continue
    echo "$cell:"
    out=$work/$cell
    recorded "$cell" tests/vm/probes.sh "$cell" "$out" || continue
    program=/usr/bin/probed
    times entries uprobe:$program:power 1000
    times returns uretprobe:$program:power 1000
    times static "usdt:$program:shop:*" 400
    times values uprobe:$program:shop::Cart::add 200
    times latency latency:$program:power 1000
    [ ! -e "$out/kernel.reel" ] || ok "$cell: a kernel function" [ "$(total kernel kprobe:do_exit)" -ge 2 ]
    "$O/stackreel" report -q --stdio --percent-limit 0 --symfs "$out" --by arg2 "$out/values.reel" >"$work/values"
    [ "$(grep -cE '^ .* 1 +[0-9]+$' "$work/values")" = 200 ]
    count $? "$cell: each argument of 200 calls"
    labels fields sched:sched_process_exec
    ok "$cell: a tracepoint's text, filtered" grep -qE ' filename=/usr/bin/probed arg-pid=[0-9]+$' "$work/labels"
    if [ -e "$out/kernel.reel" ]; then
        labels arguments kprobe:do_exit
        ok "$cell: a kernel function's argument" grep -q ' arg1=768$' "$work/labels"
        labels arguments kprobe:do_sys_openat2
        ok "$cell: a string of the program" grep -qF ' arg1=-100 arg2=/proc/version' "$work/labels"
        labels arguments kprobe:__set_task_comm
        ok "$cell: a string of the kernel" grep -qE ' arg2=(sh|probed)$' "$work/labels"
        labels arguments kretprobe:do_sys_openat2
        ok "$cell: a result" grep -q ' arg1=3$' "$work/labels"
        ok "$cell: a negative result" grep -q ' arg1=-2$' "$work/labels"
        times filtered kprobe:do_sys_openat2 11 # file1, file10 .. file19
        times filtered kretprobe:do_sys_openat2 "$(grep -c ' arg1=-2$' "$work/labels")"
        times filtered kprobe:do_exit 1
        times filtered kprobe:__set_task_comm 1
        ok "$cell: what filters drop is not lost" grep -q ' 0 lost' "$out/filtered.log"
    fi
    folded clock cpu-clock | grep -E '(^|;)(third|second|first|power)(;| )' | grep -v incomplete >"$work/clock"
    sed -E 's/ [0-9]+$//' "$work/clock" | grep -vxE '(main|calls);first(;second(;third)?)?|main(;power){1,5}|main(;power){5};third' >"$work/wrong"
    [ -s "$work/clock" ] && [ ! -s "$work/wrong" ]
    count $? "$cell: callers of functions that will return to the kernel: $(head -n 3 "$work/wrong")"
done
finish
