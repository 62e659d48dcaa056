#!/bin/bash
# Records with our own recorder on other kernels and CPUs, and replays here: every chain must be one that the program can have.
# The same for the capture in testdata, which an older run of tests/vm/orders.sh made.
set -u
cd "$(dirname "$0")/.."
O=${O:-build}
. tests/count.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# chains DIR: replays DIR/orders.reel with DIR/usr/bin/orders. Not every trace need be complete: crti.o's _init has no CFI.
chains() {
    "$O/stackreel" folded --min-complete 99 --no-host-files --symfs "$1" --debug-dir "$1/usr/lib/debug" "$1/orders.reel" >"$work/folded" &&
        tests/orders_chains.py --min 200 <"$work/folded"
}

echo "testdata/aarch64/orders:"
chains testdata/aarch64/orders
count $? "the shipped capture's chains"

for cell in ${CELLS:-arm64-6.12 arm64-6.1 x86_64-5.10 x86_64-6.12}; do
    echo "$cell:"
    tests/vm/orders.sh "$cell" "$work/$cell" >"$work/log" 2>&1
    status=$?
    if [ $status = 77 ]; then
        echo "skip: $cell: $(tail -n 1 "$work/log")"
        skipped=$((skipped + 1))
        continue
    fi
    [ $status = 0 ] || tail -n 20 "$work/log"
    count $status "$cell: recording"
    [ $status = 0 ] || continue
    cat "$work/$cell/record.log"
    chains "$work/$cell"
    count $? "$cell: chains"
done
finish
