#!/bin/bash
# The BPF program alone, with programs that know what their samples must contain (tests/record/sampler_probe.c): on this kernel, and on
# others in guests. CELLS=... selects other cells of tests/vm/cells.sh.
# run.sh: records guests thorough shares
# checks: bpf record/sampling
. "$(dirname "$0")/../count.sh"

# take NAME STATUS: adds the probe's counts from $work/log.
take() {
    local counts p f s
    counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$work/log" | tail -n 1)
    if [ -z "$counts" ]; then
        case $2 in
        77) skipped=$((skipped + 1)); echo "skip: $1: $(tail -n 1 "$work/log")" ;;
        *) failed=$((failed + 1)); echo "failed: $1"; tail -n 20 "$work/log" ;;
        esac
        return
    fi
    read -r p f s _ < <(sed -E 's/[^0-9]+/ /g' <<<"$counts")
    grep -E '^(FAIL|skip)' "$work/log" | sed "s/^skip/skip: $1:/;s/^FAIL/FAIL $1:/" | sort -u
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

if [ ! -x "$O/tests/record/sampler_probe" ]; then
    echo "skip: stackreel-record is not built"
    echo "0 passed, 0 failed, 1 skipped"
    exit
fi

if ! in_share 0; then
    :
elif [ "$(id -u)" = 0 ] && "$O/stackreel-record" -q --duration 0.1 -a -o "$work/try.reel" 2>"$work/log"; then
    "$O/tests/record/sampler_probe" >"$work/log" 2>&1
    take "this kernel" $?
else
    echo "skip: this kernel: $(tail -n 1 "$work/log" 2>/dev/null || echo root is needed)"
    skipped=$((skipped + 1))
fi

number=1
for cell in ${CELLS:-x86_64-5.10 arm64-6.12}; do
    in_share $((number++)) || continue
    arch=${cell%%-*} cross=
    [ "$arch" = "$(uname -m)" ] || cross=$(tests/vm/cross.sh "$arch" 2>"$work/log") || { take "$cell" $?; continue; }
    # As in tests/vm/common.sh.
    objects=$(realpath -m "$O${cross:+/vm-$arch}")
    # shellcheck disable=SC2086 # words
    if ! make -s O="$objects" $cross "$objects/static/sampler_probe" >"$work/log" 2>&1; then
        take "$cell: build" 1
        continue
    fi
    # In emulation, loading the programs for a case takes seconds.
    echo PROBE_EMULATED=1 sampler_probe >"$work/script"
    tests/vm/run.sh "$cell" "$work/script" "$work/$cell" "$objects/static/sampler_probe" >"$work/log" 2>&1
    take "$cell" $?
done
finish
