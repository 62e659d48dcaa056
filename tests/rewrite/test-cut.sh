#!/bin/bash
# `stackreel cut`: part of each capture in testdata, as a capture, gives the same traces and names, and has no other records than these
# samples need.
#
#   tests/rewrite/test-cut.sh     O=DIR   the object directory (build)
#
# tests/rewrite/test-cut-merge.py has the quick cases. Prints the sizes.
# run.sh: thorough
# checks: =replay/rewrite =replay/capture format/timeline
. "$(dirname "$0")/../count.sh"
[ -x "$stackreel" ] || { skip "$stackreel is not built"; finish; }

# ---- the same traces -------------------------------------------------------------------

captures=0 before=0 after=0

script() {
    "$stackreel" script -q -j1 --ns --no-host-files "$@" 2>&1
}

# same FILE SYMFS SELECTION...: the new capture gives byte-identical output for the selection.
same() {
    local file=$1 symfs=$2
    shift 2
    run 0 "$stackreel" cut -q -o "$work/a.reel" "$@" "$file"
    cmp <(script --symfs "$symfs" "$@" "$file") <(script --symfs "$symfs" "$work/a.reel")
    count $? "$file $*: same traces"
    after=$((after + $(wc -c <"$work/a.reel"))) before=$((before + $(wc -c <"$file")))
}

# a_part FILE SYMFS: cuts out the middle half, and the middle half of the last sample's thread.
a_part() {
    local file=$1 symfs=$2 range tid
    captures=$((captures + 1))
    "$stackreel" script -q -j1 --ns --no-host-files "$file" 2>&1 | grep -E '^[^#	].*: +[0-9]+ ' >"$work/samples"
    range=$(sed -E 's/.*\] +([0-9]+)\.([0-9]+):.*/\1\2/' "$work/samples" | sort -n |
        awk 'NR == 1 { first = $1 } { last = $1 } END { printf "%.0fns..%.0fns", (last - first) / 4, (last - first) * 3 / 4 + 1 }')
    tid=$(tail -n 1 "$work/samples" | sed -E 's,.*/([0-9]+) +\[.*,\1,')
    # A capture with two samples has none in the middle.
    [ "$(wc -l <"$work/samples")" -lt 4 ] || same "$file" "$symfs" --time "$range"
    same "$file" "$symfs" --tid "$tid"
}

for archive in testdata/*/chains/symfs.tar.xz; do
    cpu=${archive#testdata/} cpu=${cpu%%/*}
    tests/matrix/unpack.sh "$cpu" "$work/$cpu" || { count 1 "$cpu: unpacking"; continue; }
    for file in testdata/"$cpu"/chains/*/*.reel; do a_part "$file" "$work/$cpu"; done
    rm -rf "${work:?}/$cpu"
done
for file in testdata/*/orders/orders.reel testdata/*/jit/*.reel; do a_part "$file" "${file%/*}"; done
for folder in testdata/*/perf; do
    for mode in dwarf fp; do
        "$stackreel" import -q -o "$work/$mode.reel" "$folder/$mode.data" 2>"$work/err" || count 1 "$folder/$mode.data: import"
        a_part "$work/$mode.reel" "$folder"
    done
done
echo "$captures captures: $before bytes, $after when cut"
[ $captures -gt 50 ] && [ $after -lt $before ]
count $? "enough captures, and small enough"

finish
