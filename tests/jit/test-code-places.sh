#!/bin/bash
# Code that runs elsewhere than where its file is mapped: text that was copied to other memory at its own address keeps its names and its
# unwind information, unless the copy was changed; code in the heap and in a file's data is code; a process sees what another one maps
# that shares its memory. tests/programs/code_places.c knows the stack.
# run.sh: records
. "$(dirname "$0")/../count.sh"
. tests/record/recording.sh
needs_to_record
[ "$(uname -m)" = x86_64 ] || { skip "tests/programs/code_places.c writes x86-64 code"; finish; }
places=$work/places
"${CC:-cc}" -O1 -g -Wall -Werror -o "$places" "$tests/programs/code_places.c" || { failed=1; finish; }
echo 'void inner(void) { for (volatile int i = 0; i < 200000; i++) ; }' >"$work/inner.c"
"${CC:-cc}" -O1 -g -shared -fPIC -o "$work/inner.so" "$work/inner.c" || { failed=1; finish; }

# judge NAME CHAIN OPTION...: nearly all traces of the program's loop end like CHAIN, and no complete one has other functions.
judge() {
    local name=$1 chain=$2
    shift 2
    "$stackreel" folded -q --no-inline "$@" "$work/$name.reel" >"$work/$name.folded"
    awk -v chain="$chain" '
        /;(clock|dl_|_dl|__vdso)/ || !/;(inner|outer|JIT code of [^;]*) [0-9]+$/ { next }
        { n += $NF }
        $0 ~ chain " [0-9]+$" { right += $NF; next }
        /\[incomplete/ || /;outer [0-9]+$/ { next }
        { print "complete: " $0; wrong += $NF }
        END { printf "%d samples, %d right, %d wrong\n", n, right, wrong; exit !(n && right >= 0.8 * n && wrong <= 0.1 * n) }' "$work/$name.folded" >"$work/out"
    count $? "$name $*: $(tail -n 4 "$work/out")"
}

# attach HOW: records the program once its code is in place.
attach() {
    "$places" "$1" 60000 >"$work/ready" &
    local pid=$!
    for _ in {1..1000}; do [ ! -s "$work/ready" ] || break; sleep 0.01; done
    "$recorder" -q -F 499 -o "$work/$1.reel" -p $pid --duration 1 2>"$work/err"
    count $? "$1: record"
    kill $pid
    wait $pid 2>"$work/out"
}

for how in fixed moved memfd; do
    attach $how
    judge $how ';main;outer;inner'
    judge $how ';main;outer;inner' --no-host-files
done
# All code is in the page that was changed.
attach patched
judge patched ';JIT code of [^;]*;JIT code of [^;]*;JIT code of [^;]*'
for how in heap data; do
    attach $how
    judge $how ';main;outer;JIT code of places'
    judge $how ';main;outer;JIT code of places' --no-host-files
done
"$recorder" -q -F 499 -o "$work/shared.reel" -- "$places" shared 500 "$work/inner.so" 2>"$work/err"
count $? "shared: record"
judge shared ';sharer;outer;inner'
finish
