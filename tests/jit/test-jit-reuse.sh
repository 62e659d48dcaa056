#!/bin/bash
# Code outside of files that is replaced while it runs, or is jumped to: no trace has a function that was not on the stack, and none is
# complete without one that was. tests/programs/jit_reuse.c makes the code, and knows the stack.
# run.sh: records
. "$(dirname "$0")/../count.sh"
. tests/record/recording.sh
needs_to_record
[ "$(uname -m)" = x86_64 ] || { skip "tests/programs/jit_reuse.c writes x86-64 code"; finish; }
"${CC:-cc}" -O2 -g -fno-optimize-sibling-calls -Wall -Werror -o "$work/reuse" "$tests/programs/jit_reuse.c" || { failed=1; finish; }

# judge NAME LEAST ARGUMENT...: LEAST of the samples in the code have to have complete traces.
judge() {
    local name=$1 least=$2
    shift 2
    "$recorder" -q -F 999 -o "$work/$name.reel" -- "$work/reuse" "$@" 2>"$work/err"
    count $? "$name: record"
    "$stackreel" folded -q --no-inline "$work/$name.reel" >"$work/$name.folded"
    awk -v least="$least" '
        !/;JIT code of / { next }
        { n += $NF }
        /;mistaken/ { print "not on the stack: " $0; bad += $NF }
        !/\[incomplete/ { complete += $NF }
        !/\[incomplete/ && !/;main;caller;JIT code of [^;]*(;leaf)? [0-9]+$/ { print "complete: " $0; bad += $NF }
        END { printf "%d samples, %d complete, %d wrong\n", n, complete, bad; exit !(n && !bad && complete >= least * n) }' "$work/$name.folded"
    count $? "$name: traces"
}

judge slowly 0.5 rewritten 700
judge often 0.5 rewritten 60
judge restlessly 0.5 rewritten 13
# More pages than samples check: on a busy host, most of them are read late.
judge widely 0.2 rewritten 250 40
judge jumped 0 jumped
finish
