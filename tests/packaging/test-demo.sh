#!/bin/bash
# README's demo. If BPF is allowed, it shows a profile of its own recording. Without privileges it prints a message and replays the bundled arm64
# capture.
. "$(dirname "$0")/../count.sh"

# expect WHAT FILE PATTERN...: FILE matches each PATTERN.
expect() {
    local what=$1 file=$2 pattern
    shift 2
    for pattern; do
        if ! grep -qE "$pattern" "$file"; then
            echo "failed: $what: no match for '$pattern' in:"
            sed 's/^/    /' "$file"
            failed=$((failed + 1))
            return
        fi
    done
    passed=$((passed + 1))
}

profile=('shop::walk\((int, unsigned long|…)\)' 'shop::Checkout::tax\((double|…)\)( const)? \(inlined\)' 'shop::by_value' 'complete traces: (9[89]|100)')

O=$O packaging/demo.sh >"$work/log" 2>&1 </dev/null
if grep -q 'Recording is not possible here' "$work/log"; then
    echo "skip: the demo with recording: $(grep -A1 'not possible' "$work/log" | tail -n 1)"
    skipped=$((skipped + 1))
else
    expect "the demo" "$work/log" '^[0-9,]+ samples, ' "${profile[@]}"
fi

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    # A copy that is read-only for the user.
    mkdir "$work/tree"
    cp -r packaging testdata "$work/tree/"
    mkdir "$work/tree/build"
    cp "$O/stackreel" "$O/stackreel-record" "$work/tree/build/"
    chmod -R a+rwX "$work"
    (cd "$work/tree" && O=build setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all \
        packaging/demo.sh) >"$work/log" 2>&1 </dev/null
    expect "the demo without privileges" "$work/log" 'Recording is not possible here' 'arm64 kernel' 'aarch64' "${profile[@]}"
else
    echo "skip: the demo without privileges: needs root and setpriv to drop privileges"
    skipped=$((skipped + 1))
fi
finish
