#!/bin/bash
# stackreel-record --fp and stackreel report --compare-fp. Checks frame-pointer walks of a program whose instructions determine the result,
# compares them with perf's walks, and repeats the checks on other kernels and CPUs. CELLS=... selects other cells of tests/vm/cells.sh.
# run.sh: records guests thorough shares
# checks: bpf record/sampling
. "$(dirname "$0")/../count.sh"

# compare DIR VARIANT: runs the report on DIR/VARIANT.reel, and extracts the walks.
compare() {
    "$O/stackreel" report --compare-fp --percent-limit 0 --no-host-files --module "$1/bin/$2" "$1/$2.reel" >"$work/report" &&
        tests/chains/frame_chains.py "$1/$2.reel" "$1/bin/$2" <"$work/report" || { cat "$work/report"; false; }
}

# says PATTERN ARGUMENT...: stackreel report fails with a message that matches PATTERN.
says() {
    local pattern=$1
    shift
    ! "$O/stackreel" report --compare-fp "$@" >"$work/out" 2>"$work/err" && grep -qE -- "$pattern" "$work/err" && [ ! -s "$work/out" ] ||
        { cat "$work/out" "$work/err"; false; }
}

# ---- captures without walks --------------------------------------------------------------------

says 'no sample has a walk by frame pointers; record with stackreel-record --fp' testdata/aarch64/orders/orders.reel
count $? "a capture without walks"
"$O/stackreel" import -q -o "$work/fp.reel" testdata/aarch64/perf/fp.data
says 'all traces are walks by frame pointers' --symfs testdata/aarch64/perf "$work/fp.reel"
count $? "a recording of nothing but walks"
says '--tree, --callers, --residency, --histogram, --compare-fp, --locks and --stack-bytes exclude each other' --tree "$work/fp.reel"
count $? "two layouts"
says 'cannot be combined with --sort or --by' --by=comm "$work/fp.reel"
count $? "an order"

# ---- this kernel ---------------------------------------------------------------------------

# agree CAPTURE PERF-SCRIPT PROGRAM: both have the same walks, in the same proportions.
agree() {
    python3 - "$@" <<'PYTHON'
import collections, re, sys
sys.path[:0] = ["tests", "tests/reader"]
import reel_reader
ours, theirs = collections.Counter(), collections.Counter()
# perf script prints addresses within the file.
inner = lambda chain: tuple(address & 0xFFFF for address in chain[1:])
with open(sys.argv[1], "rb") as file:
    for _, record in reel_reader.Capture(file, sys.exit).all_records():
        if record["record"] == "SAMPLE" and record["frame_chain"]:
            ours[inner(record["frame_chain"])] += 1
for sample in open(sys.argv[2]).read().split("\n\n"):
    chain = [int(a, 16) for a in re.findall(r"^\s+([0-9a-f]+)", sample, re.M)]
    if chain:
        theirs[inner(chain)] += 1
n, m = sum(ours.values()), sum(theirs.values())
print("%d walks of ours, %d of perf's, %d kinds" % (n, m, len(set(ours) | set(theirs))))
# Two separate runs: on a busy machine a loop's share differs by up to 0.08.
wrong = [c for c in set(ours) | set(theirs) if abs(ours[c] / n - theirs[c] / m) > 0.12]
for chain in wrong:
    print("%d of ours, %d of perf's: %s" % (ours[chain], theirs[chain], " ".join(map(hex, chain))))
sys.exit(bool(wrong) or n < 200 or m < 200)
PYTHON
}

if ! in_share 0; then
    :
elif [ "$(id -u)" != 0 ] || ! "$O/stackreel-record" -q --fp -o "$work/try.reel" -- true 2>"$work/log"; then
    skip "this kernel: $(tail -n 1 "$work/log" 2>/dev/null || echo root is needed)"
else
    O=$O ROUNDS=${ROUNDS:-20000000} tests/vm/frames.sh host "$work/host"
    count $? "recording"
    compare "$work/host" kept
    count $? "every function has a frame record"
    compare "$work/host" leafless
    count $? "leaf functions have none"

    # perf 6.1 crashes if a recorder that requests build-ids runs at the same time.
    for _ in 1 2 3; do
        { perf record -q -N -e cpu-clock:u -F 999 --call-graph fp -o "$work/perf.data" -- "$work/host/bin/leafless"; } >"$work/log" 2>&1 && break
        rm -f "$work/perf.data"
    done
    if [ -e "$work/perf.data" ]; then
        perf script -F ip -i "$work/perf.data" >"$work/perf.script" 2>"$work/log" && agree "$work/host/leafless.reel" "$work/perf.script"
        count $? "same walks as perf record --call-graph fp"
    else
        skip "no perf to compare walks with: $(head -n 1 "$work/log")"
    fi

    # The C library has no frame pointers, so walks end at its callbacks even in programs with frame pointers.
    for frames in omit no-omit; do
        g++ -O2 -g -f$frames-frame-pointer -o "$work/orders" testdata/programs/orders.cc &&
            "$O/stackreel-record" -q --fp -F 999 -o "$work/$frames.reel" -- "$work/orders" 1 &&
            "$O/stackreel" report --compare-fp --min-complete 99 "$work/$frames.reel" >"$work/$frames" || cat "$work/$frames"
        count $? "orders, -f$frames-frame-pointer"
        lost=$(sed -n 's/^# frames lost: .* (\([0-9]*\).*/\1/p' "$work/$frames")
        echo "-f$frames-frame-pointer: $lost % of the frames are lost"
        if [ $frames = omit ]; then [ "${lost:-0}" -gt 50 ]; else [ "${lost:-100}" -lt 50 ]; fi
        count $? "share of lost frames with -f$frames-frame-pointer"
    done
    grep -qE '^ +[0-9,]+ .* shop::by_value\(' "$work/no-omit"
    count $? "walks end at a C library callback"
    "$O/stackreel" folded "$work/no-omit.reel" | tests/chains/orders_chains.py --min 200
    count $? "traces are still unwound from the stack"
    "$O/stackreel-record" -q --fp --rotate 200ms -F 999 -o "$work/parts.reel" -- "$work/orders" 1
    for part in "$work"/parts.0*.reel; do
        "$O/stackreel" report --compare-fp "$part" 2>/dev/null | sed -n '/^# compared/p'
    done >"$work/parts"
    # A task that exits, or has not yet finished execve(), has no stack.
    [ "$(wc -l <"$work/parts")" -ge 2 ] && [ "$(grep -c 'have no such walk' "$work/parts")" -le 2 ] || { cat "$work/parts"; false; }
    count $? "samples kept for the next part keep their walk"
fi

# ---- guests ---------------------------------------------------------------------------------

number=1
for cell in ${CELLS-x86_64-5.10 arm64-6.12}; do
    in_share $((number++)) || continue
    # Emulated CPUs are slower.
    recorded "$cell" env O="$O" ROUNDS=1000000 tests/vm/frames.sh "$cell" "$work/$cell" || continue
    for variant in kept leafless; do
        case $cell in
        riscv64* | s390x*)
            # These kernels take the first return address from a register, which may hold any value, so the instructions do not determine
            # the result.
            "$O/stackreel" report --compare-fp --min-complete 99 --no-host-files --module "$work/$cell/bin/$variant" "$work/$cell/$variant.reel" \
                >"$work/report" && grep -qE '^# compared .*: [0-9]{2,} traces' "$work/report" || { cat "$work/report"; false; }
            ;;
        *) compare "$work/$cell" $variant ;;
        esac
        count $? "$cell: $variant"
    done
    # Walks with kernel chains. An exiting task no longer has a stack.
    "$O/stackreel" report --compare-fp --no-host-files --module "$work/$cell/bin/kept" "$work/$cell/switches.reel" >"$work/report" &&
        grep -qE '^# compared .*: [1-9][0-9]* traces(; [12] have no such walk)?$' "$work/report" || cat "$work/report" "$work/log"
    count $? "$cell: walks at a tracepoint"
    "$O/stackreel" report --compare-fp --no-host-files --module "$work/$cell/bin/kept" "$work/$cell/cut.reel" >"$work/report"
    grep -qE '[0-9,]+ walks ended at the recorder.s limit' "$work/report" &&
        grep -qE '^ +0 .*all frames from some point on' "$work/report" || { cat "$work/report"; false; }
    count $? "$cell: the kernel's depth limit is not reported as a break"
done
finish
