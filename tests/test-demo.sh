#!/bin/bash
# README's demo: where BPF is allowed it shows a profile of what it recorded; without privileges it says so, and replays the
# shipped arm64 capture.
# run.sh: records
set -u
cd "$(dirname "$0")/.."
O=${O:-build}
. tests/count.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect WHAT FILE PATTERN...: each pattern is in the file.
expect() {
    local what=$1 file=$2 pattern
    shift 2
    for pattern; do
        if ! grep -qE "$pattern" "$file"; then
            echo "failed: $what: nothing like \`$pattern' in:"
            sed 's/^/    /' "$file"
            failed=$((failed + 1))
            return
        fi
    done
    passed=$((passed + 1))
}

profile=('shop::walk\(int, unsigned long\)' 'shop::Checkout::tax\(double\) const \(inlined\)' 'shop::by_value' 'complete traces: (9[89]|100)')

O=$O packaging/demo.sh >"$work/log" 2>&1 </dev/null
if grep -q 'Recording is not possible here' "$work/log"; then
    echo "skip: the demo as it is: $(grep -A1 'not possible' "$work/log" | tail -n 1)"
    skipped=$((skipped + 1))
else
    expect "the demo" "$work/log" '^[0-9,]+ samples, ' "${profile[@]}"
fi

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    # A copy that nobody may write to.
    mkdir "$work/tree"
    cp -r packaging testdata "$work/tree/"
    mkdir "$work/tree/build"
    cp "$O/stackreel" "$O/stackreel-record" "$work/tree/build/"
    chmod -R a+rwX "$work"
    (cd "$work/tree" && O=build setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set=-all \
        packaging/demo.sh) >"$work/log" 2>&1 </dev/null
    expect "the demo without privileges" "$work/log" 'Recording is not possible here' 'arm64 kernel' 'aarch64' "${profile[@]}"
else
    echo "skip: the demo without privileges: it takes root and setpriv to have none"
    skipped=$((skipped + 1))
fi
finish
