#!/bin/bash
# unwinders.sh [--quick] [FILE.reel...] - compare our traces with those of libdw and libunwind, from the same registers and bytes
#
# Records real programs, and compares every sample (compare_unwinders.c documents how, and what counts as explained). Also compares the
# arm64 capture in the sources and, if perf is installed, perf recordings. FILE: these captures instead.
# Each capture is a case: every difference is explained, and 99.95 % of the traces that can reach the root do.
#   WORKLOADS="a b"  of tests/truth/workloads.sh, and start        FREQUENCY=N     SECONDS_OF_CPU=N     V=1: every example
. "$(dirname "$0")/../count.sh"
compare=$O/tests/truth/compare_unwinders recorder=$O/stackreel-record stackreel=$O/stackreel
workloads=${WORKLOADS-exceptions recursion threads signals python compile sqlite start}
imported=${IMPORTED-exceptions recursion threads signals python compile}
frequency=${FREQUENCY:-4999}
export SECONDS_OF_CPU=${SECONDS_OF_CPU:-4}
quick=
if [ "${1-}" = --quick ]; then
    shift
    quick=yes
    workloads=${WORKLOADS-exceptions recursion threads signals python compile}
    imported=${IMPORTED-exceptions}
    frequency=${FREQUENCY:-1999}
    SECONDS_OF_CPU=1
fi
examples=0
[ -z "${V-}" ] || examples=16

# check NAME OPTION... FILE: a case; prints its counts.
check() {
    local name=$1
    shift
    echo "-- $name"
    if nice "$compare" --examples "$examples" "$@" >"$work/out" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $name: exit status $?"
        nice "$compare" --examples 2 "$@" >"$work/out" 2>&1
    fi
    tail -n +2 "$work/out"
}

# spoiled OPTION... FILE: tests the comparison itself. With one wrong return address in each trace, it may confirm only single-frame traces.
spoiled() {
    local single confirmed
    nice "$compare" --examples 0 --spoil "$@" >"$work/out" 2>&1
    [ $? = 1 ] || { echo "FAILED: wrong traces pass" && failed=$((failed + 1)) && return; }
    single=$(sed -n 's/^  ours: .*; \([0-9]*\) of one frame; .*/\1/p' "$work/out")
    confirmed=$(sed -n 's/^  by libdw.s rows, step by step: \([0-9]*\) of .*/\1/p' "$work/out")
    if [ "$confirmed" -le "$single" ]; then
        passed=$((passed + 1))
    else
        echo "FAILED: $confirmed wrong traces are confirmed"
        failed=$((failed + 1))
    fi
}

[ -x "$compare" ] || { skip "$compare is not built"; finish; }

if [ $# != 0 ]; then
    for file; do check "$file" "$file"; done
    finish
fi

fixture=(--no-host-files --symfs testdata/aarch64/orders testdata/aarch64/orders/orders.reel)
check "arm64: orders" "${fixture[@]}"
spoiled "${fixture[@]}"
# Steps by the frame pointer, which libunwind handles differently.
if tests/matrix/unpack.sh x86_64 "$work/symfs" 2>"$work/err"; then
    check "x86_64: bare-framed" --no-host-files --symfs "$work/symfs" testdata/x86_64/chains/gcc/bare-framed.reel
else
    skip "x86_64: bare-framed: $(tail -n 1 "$work/err")"
fi

# ---- our own captures -------------------------------------------------------------------------

can_record=
if [ ! -x "$recorder" ]; then
    skip "$recorder is not built"
elif ! "$recorder" -q -o "$work/probe.reel" -- true 2>"$work/err"; then
    skip "cannot record here: $(head -n 1 "$work/err")"
else
    can_record=yes
fi

command=()
# command_of NAME: sets `command`; false if this host cannot build it.
command_of() {
    local line
    if [ "$1" = start ]; then
        # short-lived processes: ld.so, lazy binding, code without CFI around main, fork and exec
        command=(sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do python3 -c "import json, hashlib, ssl, sqlite3" || exit; done')
        return
    fi
    if ! line=$(tests/truth/workloads.sh "$1" 2>"$work/err"); then
        skip "$1: $(tail -n 1 "$work/err")"
        return 1
    fi
    eval "command=($line)"
}

for name in ${can_record:+$workloads}; do
    command_of "$name" || continue
    if ! "$recorder" -q --raw-stacks -F "$frequency" -o "$work/$name.reel" -- "${command[@]}" >/dev/null 2>"$work/err"; then
        failed=$((failed + 1))
        echo "FAILED: record $name: $(tail -n 1 "$work/err")"
        continue
    fi
    check "$name" "$work/$name.reel"
    # traces that need the bytes below sp must be the same without them
    [[ $quick && ($name = python || $name = compile) ]] ||
        check "$name, the red zone hidden from the others" --hide-red-zone "$work/$name.reel"
    [ "$name" != exceptions ] || spoiled "$work/$name.reel"
    rm -f "$work/$name.reel"
done

# ---- perf recordings -----------------------------------------------------------------------

if ! "$stackreel" import --help >/dev/null 2>&1; then
    skip "$stackreel does not support import"
    imported=
elif ! perf --buildid-dir "$work/debug" record --buildid-mmap -o "$work/probe.data" -- true >/dev/null 2>"$work/err"; then
    skip "perf cannot record here: $(head -n 1 "$work/err")"
    imported=
fi
for name in $imported; do
    command_of "$name" || continue
    # --buildid-mmap: build-ids are from the kernel; perf reads no files when it ends
    if ! perf --buildid-dir "$work/debug" record --buildid-mmap -q -m 4096 -F 999 -e cpu-clock --call-graph dwarf,65528 -o "$work/data" -- "${command[@]}" \
        >/dev/null 2>"$work/err"; then
        skip "perf record --buildid-mmap $name: $(tail -n 1 "$work/err")"
        continue
    fi
    if ! "$stackreel" import --raw-stacks "$work/data" -o "$work/$name.reel" 2>"$work/err"; then
        failed=$((failed + 1))
        echo "FAILED: import $name: $(tail -n 1 "$work/err")"
        continue
    fi
    check "$name, by perf" --one-stack "$work/$name.reel"
    rm -f "$work/$name.reel" "$work/data"
done
finish
