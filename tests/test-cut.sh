#!/bin/bash
# Cutting: a part of a capture as a capture has the traces and names of these samples, of all captures of testdata, and no more beside them than they need.
#
#   tests/test-cut.sh     O=DIR   the object directory (build)
#
# tests/test-cut-merge.sh has what is quickly tried. Prints the sizes.
# run.sh: thorough
set -u
cd "$(dirname "$0")/.." || exit
O=${O:-build}
stackreel=$O/stackreel
. tests/count.sh
[ -x "$stackreel" ] || { skip "$stackreel is not built"; finish; }
work=$(mktemp -d "${TMPDIR:-/var/tmp}/stackreel-cut.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

# ---- the same traces -------------------------------------------------------------------

captures=0 before=0 after=0

script() {
    "$stackreel" script -q -j1 --ns --no-host-files "$@" 2>&1
}

# same FILE SYMFS SELECTION...: the part has what is selected of the whole, byte for byte.
same() {
    local file=$1 symfs=$2
    shift 2
    run 0 "$stackreel" cut -q -o "$work/a.reel" "$@" "$file"
    cmp <(script --symfs "$symfs" "$@" "$file") <(script --symfs "$symfs" "$work/a.reel")
    count $? "$file $*: other traces"
    after=$((after + $(wc -c <"$work/a.reel"))) before=$((before + $(wc -c <"$file")))
}

# a_part FILE SYMFS: its middle half, and that of its last sample's thread.
a_part() {
    local file=$1 symfs=$2 range tid
    captures=$((captures + 1))
    "$stackreel" script -q -j1 --ns --no-host-files "$file" 2>&1 | grep -E '^[^#	].*: +[0-9]+ ' >"$work/samples"
    range=$(sed -E 's/.*\] +([0-9]+)\.([0-9]+):.*/\1\2/' "$work/samples" | sort -n |
        awk 'NR == 1 { first = $1 } { last = $1 } END { printf "%.0fns..%.0fns", (last - first) / 4, (last - first) * 3 / 4 + 1 }')
    tid=$(tail -n 1 "$work/samples" | sed -E 's,.*/([0-9]+) +\[.*,\1,')
    # Of two samples none is in the middle.
    [ "$(wc -l <"$work/samples")" -lt 4 ] || same "$file" "$symfs" --time "$range"
    same "$file" "$symfs" --tid "$tid"
}

for archive in testdata/*/chains/symfs.tar.xz; do
    cpu=${archive#testdata/} cpu=${cpu%%/*}
    tests/matrix/unpack.sh "$cpu" "$work/$cpu" || { count 1 "$cpu: its archive"; continue; }
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
count $? "so few captures, or so many bytes"

finish
