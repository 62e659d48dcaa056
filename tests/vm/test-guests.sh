#!/bin/bash
# Records with our recorder on other kernels and CPUs, and replays here: every chain must be one that the program can have. Checks the
# captures in testdata, made by an older run of tests/vm/orders.sh, in the same way. The default is one cell, which shows that it works;
# CELLS="..." names others from tests/vm/cells.sh. tests/vm/test-more-guests.sh runs more cells, and "all" (make vm-test) every cell.
# run.sh: guests thorough shares
# checks: bpf =record/sampling =record
. "$(dirname "$0")/../count.sh"
export O=${O:-build}

for dir in testdata/aarch64/orders testdata/i386/orders; do
    "$O/stackreel" folded --min-complete 99 --no-host-files --symfs $dir $dir/orders.reel | tests/chains/orders_chains.py --min 200
    count $? "$dir: chains"
done

cells=${CELLS:-arm64-6.12}
[ "$cells" != all ] || cells=$(tests/vm/cells.sh | awk '{ print $1 }')
number=0
for cell in $cells; do
    in_share $((number++)) || continue
    status=0
    # For other CPUs, stackreel would have to be cross-compiled.
    replay=
    [ "${CELLS-}" != all ] && [ "${cell%%-*}" != "$(uname -m | sed s/aarch64/arm64/)" ] || replay=1
    REPLAY=$replay tests/vm/cell.sh "$cell" || status=$?
    if [ $status = 77 ]; then
        skipped=$((skipped + 1))
    else
        count $status "$cell"
    fi
done
finish
