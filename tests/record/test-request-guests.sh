#!/bin/bash
# Which request a thread works for (the labels trace and span), on other kernels and CPUs, as test-requests.sh does here.
#   CELLS="…"   the guests; the long form: x86_64-5.10 x86_64-6.1 arm64-6.12
# run.sh: guests thorough
# checks: bpf
. "$(dirname "$0")/../count.sh"
[ -x "$O/stackreel" ] || { skip "$O/stackreel is not built"; finish; }

for cell in ${CELLS:-arm64-6.12}; do
    echo "$cell:"
    out=$work/$cell
    recorded "$cell" tests/vm/requests.sh "$cell" "$out" || continue
    for capture in "$out"/*.reel; do
        name=$(basename "$capture" .reel)
        "$O/stackreel" folded -q --no-host-files --symfs "$out" --by trace,span "$capture" >"$work/folded"
        awk -f tests/record/requests.awk "$work/folded" >"$work/found"
        ok "$cell: $name" sh -c "cat $work/found; ! [ -s $work/found ]"
        "$O/stackreel" folded -q --no-host-files --by service "$capture" >>"$out/services" 2>>"$work/err"
    done
    # Emulated CPUs are slow, so the recorder may ask a program too early, and then too late.
    ok "$cell: the service" grep -q '^service=shop;' "$out/services"
done
finish
