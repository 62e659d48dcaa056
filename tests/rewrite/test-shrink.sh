#!/bin/bash
# Shrinking all captures of testdata: keeps only the stack bytes that unwinding reads, and the same traces.
#
#   tests/rewrite/test-shrink.sh     O=DIR   the object directory (build)
#
# `stackreel shrink` verifies its output itself; here `stackreel script` verifies it, including names. Prints the sizes.
# run.sh: thorough
# checks: =replay/rewrite =replay/capture format/scrub
. "$(dirname "$0")/../count.sh"
[ -x "$stackreel" ] || { skip "$stackreel is not built"; finish; }

# ---- the same traces -------------------------------------------------------------------

captures=0 before=0 after=0

# same CAPTURE OPTION...: the shrunk capture has the same traces and side records.
same() {
    local file=$1
    shift
    run 0 "$stackreel" shrink -q "$@" -o "$work/a.reel" "$file"
    cmp <("$stackreel" script -q "$@" "$file" 2>&1) <("$stackreel" script -q "$@" "$work/a.reel" 2>&1)
    count $? "$file: same traces"
    cmp <(side "$file") <(side "$work/a.reel")
    count $? "$file: same records"
    captures=$((captures + 1)) before=$((before + $(wc -c <"$file"))) after=$((after + $(wc -c <"$work/a.reel")))
}

# side FILE: its records other than samples, without the fields that are specific to a file.
side() {
    "$stackreel" dump -q --json "$1" | grep -vE '"record": "(INDEX_ENTRY|DIGEST|SAMPLE_LAYOUT|SAMPLE)"' |
        sed -E 's/"block[a-z_]*": [0-9]+, //g; /"record": "END"/s/, "side_records": [0-9]+//' # END's counts are specific to its file
}

for archive in testdata/*/chains/symfs.tar.xz; do
    cpu=${archive#testdata/} cpu=${cpu%%/*}
    tests/matrix/unpack.sh "$cpu" "$work/$cpu" || { count 1 "$cpu: unpacking"; continue; }
    for file in testdata/"$cpu"/chains/*/*.reel; do same "$file" --no-host-files --symfs "$work/$cpu"; done
    rm -rf "${work:?}/$cpu"
done
for file in testdata/*/orders/orders.reel; do same "$file" --no-host-files --symfs "${file%/*}"; done
for folder in testdata/*/perf; do
    for mode in dwarf fp; do
        "$stackreel" import -q --raw-stacks -o "$work/$mode.reel" "$folder/$mode.data" 2>"$work/err" || count 1 "$folder/$mode.data: import"
        same "$work/$mode.reel" --no-host-files --symfs "$folder"
    done
done
echo "$captures captures: $before bytes, $after when shrunk"
[ $captures -gt 50 ] && [ $after -lt $before ]
count $? "enough captures, and small enough"

# ---- kept data ----------------------------------------------------------------------

orders=testdata/i386/orders/orders.reel symfs=testdata/i386/orders

# stacks FILE: the register values and stack bytes of its samples.
stacks() {
    "$stackreel" dump -q --json --bytes "$1" | grep '"record": "SAMPLE"' | grep -oE '"registers": .*'
}

# Without the modules shrink keeps everything, since any byte may be needed.
run 0 "$stackreel" shrink --no-host-files -o "$work/whole.reel" "$orders"
says 'kept whole since modules are missing'
cmp <("$stackreel" script -q --no-host-files --symfs $symfs "$orders") <("$stackreel" script -q --no-host-files --symfs $symfs "$work/whole.reel")
count $? "shrinking without modules keeps the traces"
run 0 "$stackreel" shrink --no-host-files --symfs $symfs -o "$work/b.reel" "$work/whole.reel"
says 'samples with the same traces, [0-9.]+ k?B \([0-9]+ B a sample, of [0-9.]+ k?B\)$'
! grep -q whole "$work/err"
count $? "with modules, no sample is kept whole"
! cmp -s <(stacks "$orders") <(stacks "$work/b.reel")
count $? "with modules, shrinking removes bytes"
run 0 "$stackreel" shrink -q --no-host-files --symfs $symfs -o "$work/c.reel" "$work/b.reel"
cmp <(stacks "$work/b.reel") <(stacks "$work/c.reel")
count $? "shrinking again changes nothing"

# scrubbed FILE: the number of samples marked as scrubbed.
scrubbed() {
    "$stackreel" dump -q --json "$1" | grep '"record": "SAMPLE"' | grep -c '"flags": 2,'
}
[ "$(scrubbed "$orders")" = 0 ]
count $? "the capture is raw"
# In one sample a word that is not an address locates the last frame.
[ "$(scrubbed "$work/b.reel")" -ge 1686 ]
count $? "the remaining bytes are scrubbed"

# ---- files --------------------------------------------------------------------------------

run 2 "$stackreel" shrink $orders
says 'no output file; use -o FILE'
run 2 "$stackreel" shrink -o "$work/b.reel" "$work/b.reel"
run 0 "$stackreel" info "$work/b.reel"
# The same output into a pipe.
"$stackreel" shrink -q --no-host-files --symfs $symfs -o - "$work/whole.reel" >"$work/d.reel"
count $? "to standard output"
cmp <(stacks "$work/b.reel") <(stacks "$work/d.reel")
count $? "same capture on standard output"
"$stackreel" shrink -q --no-host-files --symfs $symfs -o - - <"$work/whole.reel" | cat >"$work/d.reel"
cmp <(stacks "$work/b.reel") <(stacks "$work/d.reel")
count $? "same capture from a pipe to a pipe"
run 1 "$stackreel" shrink -o "$work/no/such.reel" $orders
run 1 "$stackreel" shrink -o /dev/full "$work/whole.reel"

# The readable part of a damaged file is shrunk; an existing output file is kept if nothing is readable.
head -c 1500 $orders >"$work/cut.reel"
run 1 "$stackreel" shrink -o "$work/d.reel" "$work/cut.reel"
says 'ends'
cmp <("$stackreel" script -q "$work/cut.reel" 2>"$work/err") <("$stackreel" script -q "$work/d.reel" 2>"$work/err")
count $? "a truncated file gives the same traces"
cp "$work/b.reel" "$work/d.reel"
run 1 "$stackreel" shrink -o "$work/d.reel" testdata/format/README.md
cmp "$work/b.reel" "$work/d.reel"
count $? "a failure keeps the existing file"
ls "$work"/d.reel.* >"$work/out" 2>&1
[ $? != 0 ]
count $? "a failure leaves no temporary file"

# Invalid files give an error about the file, never about a failed self-check.
for file in testdata/format/*.reel; do
    "$stackreel" shrink -q --no-host-files -o "$work/e.reel" "$file" >"$work/out" 2>"$work/err"
    status=$?
    [ $status -le 1 ] && ! grep -q 'this is a bug' "$work/err"
    count $? "$file: status $status, $(head -n 1 "$work/err")"
    case $file in
    */good-optional-block.reel) [ $status = 1 ] ;; # left out, with a warning
    */good-*) [ $status = 0 ] ;;
    *) [ $status = 1 ] ;;
    esac
    count $? "$file: status $status"
done

finish
