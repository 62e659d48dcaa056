#!/bin/bash
# `stackreel shrink --archive`: one shrunk and packed file that needs no other files gives the same traces, names and lines, on each CPU.
#
#   tests/rewrite/test-archive.sh     O=DIR   the object directory (build)
. "$(dirname "$0")/../count.sh"
[ -x "$stackreel" ] || { skip "$stackreel is not built"; finish; }
total=0

# text COMMAND FILE OPTION...: the command's output, without the file's name
text() {
    local command=$1 file=$2
    shift 2
    "$stackreel" "$command" -q --no-host-files "$@" "$file" | sed "s|$file||"
}

# archived FILE OPTION...: compares the output with the files that the options name to the archive's output without them
archived() {
    local file=$1
    shift
    run 0 "$stackreel" shrink --archive --no-host-files "$@" -o "$work/a.reel" "$file"
    says 'samples with the same traces, .* modules embedded, '
    for command in script report; do
        cmp <(text $command "$file" "$@") <(text $command "$work/a.reel")
        count $? "$file: same $command"
    done
    run 0 "$stackreel" verify "$work/a.reel"
    has out ': whole: '
    run 0 "$stackreel" pack -q --no-check --no-host-files "$@" -o "$work/p.reel" "$file"
    [ "$(wc -c <"$work/a.reel")" -lt "$(wc -c <"$work/p.reel")" ]
    count $? "$file: $(wc -c <"$work/a.reel") bytes, less than packed: $(wc -c <"$work/p.reel")"
    total=$((total + $(wc -c <"$work/a.reel")))
}

for cpu in x86_64 aarch64 riscv64 s390x; do
    tests/matrix/unpack.sh $cpu "$work/$cpu" || { count 1 "$cpu: unpacking"; continue; }
    for file in testdata/$cpu/chains/gcc/{exception,inline,fork}.reel; do
        archived "$file" --symfs "$work/$cpu" --debug-dir "$work/$cpu/usr/lib/debug"
    done
    rm -rf "${work:?}/$cpu"
done
for cpu in i386 aarch64; do archived testdata/$cpu/orders/orders.reel --symfs testdata/$cpu/orders; done
# 14 captures of 107 kB, with names and lines: about 13 kB each.
[ $total -lt 190000 ]
count $? "total size: $total bytes"

# Archiving an archive does not make it larger, and keeps JIT code and names.
cp "$work/a.reel" "$work/b.reel"
run 0 "$stackreel" shrink --archive -q --no-host-files -o "$work/c.reel" "$work/b.reel"
cmp <(text script "$work/b.reel") <(text script "$work/c.reel")
count $? "an archive of an archive has the same traces"
[ "$(wc -c <"$work/c.reel")" -le "$(wc -c <"$work/b.reel")" ]
count $? "an archive of an archive is not larger"
archived testdata/x86_64/jit/python3.13-perf.reel

# Missing modules are reported and their samples kept whole; a failing command writes no file.
run 0 "$stackreel" shrink --archive --no-host-files -o "$work/d.reel" testdata/i386/orders/orders.reel
says 'kept whole since modules are missing; .* missing here'
run 1 "$stackreel" shrink --archive --no-host-files -o "$work/no/such.reel" testdata/i386/orders/orders.reel
head -c 30000 testdata/i386/orders/orders.reel >"$work/cut.reel"
run 1 "$stackreel" shrink --archive --no-host-files --symfs testdata/i386/orders -o "$work/e.reel" "$work/cut.reel"
cmp <(text script "$work/cut.reel" --symfs testdata/i386/orders) <(text script "$work/e.reel")
count $? "a truncated file gives the same traces"

echo "$total bytes"
finish
