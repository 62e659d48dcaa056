#!/bin/bash
# Code that programs list for debuggers as ELF files in memory (__jit_debug_descriptor): its names and its callers are those that gdb finds, no
# trace has a function of a file that was not there, and lists that mislead do no harm. tests/programs/jit_listed.c makes the list.
# run.sh: records
. "$(dirname "$0")/../count.sh"
. tests/record/recording.sh
needs_to_record
command -v gdb >/dev/null || { skip "gdb is not installed"; finish; }

# file NAME BYTES OPTION...: an ELF file with two functions, the inner one with a frame of BYTES.
file() {
    local name=$1 bytes=$2
    shift 2
    cat >"$work/$name.c" <<EOF
__attribute__((noinline)) void inner_of_$name(void (*function)(void)) { volatile char bytes[$bytes]; bytes[0] = 1; function(); bytes[1] = bytes[0]; }
void $name(void (*function)(void)) { inner_of_$name(function); __asm__ volatile("" ::: "memory"); }
EOF
    "${CC:-cc}" -O2 -fomit-frame-pointer -fno-stack-protector -fno-pie -no-pie -static -nostdlib -Wl,-Ttext-segment=0x20000000,--build-id=none -Wl,-e,"$name" \
        "$@" -o "$work/$name" "$work/$name.c"
}
file first 100 && file second 3000 -g -fno-asynchronous-unwind-tables &&
    "${CC:-cc}" -O2 -g -rdynamic -Wall -Werror -o "$work/listed" "$tests/programs/jit_listed.c" || { failed=1; finish; }
readelf -SW "$work/first" "$work/second" | grep -Eo '\.(eh|debug)_frame ' | tr -d '\n' | grep -qx '.eh_frame .debug_frame '
count $? "one file has .eh_frame, the other .debug_frame"

# record NAME ARGUMENT [COMMAND...]: the recording; the command's output while the last file's code waits.
record() {
    local program
    mkfifo "$work/$1.in"
    "$work/listed" "$2" "$work/first" "$work/second" <"$work/$1.in" &
    program=$!
    exec 8>"$work/$1.in"
    "$recorder" -q -F 499 -p $program -o "$work/$1.reel" 2>"$work/$1.err" 8>&- &
    # It waits in read() at the end.
    for _ in {1..600}; do
        grep -q pipe_read "/proc/$program/stack" 2>/dev/null && break
        sleep 0.1
    done
    [ $# = 2 ] || timeout 60 "${@:3}" -p $program 2>/dev/null >"$work/$1.gdb"
    exec 8>&-
    wait # for both programs
    "$stackreel" folded -q --no-inline "$work/$1.reel" | grep -v '^\[' >"$work/$1.folded"
}

# chain: gdb's frames from main to the function that waits.
chain() {
    sed -nE 's/^#[0-9]+ +(0x[0-9a-f]+ in )?([a-z_]+) \(.*/\2/p' "$1" | tac | sed -n '/^main$/,/^spin/p' | paste -sd ';'
}

record listed 1.5 gdb -nx -q -batch -ex bt
wanted=$(chain "$work/listed.gdb")
[ "$wanted" = 'main;second;inner_of_second;spin_of_second' ]
count $? "gdb reads the list ($wanted)"
grep -qF ";$wanted" "$work/listed.folded"
count $? "a trace equals gdb's"
awk '
    !/;spin_of_/ { next }
    { n += $NF }
    /first.*second|second.*first/ { print "not there: " $0; bad += $NF }
    /;main;first;inner_of_first;spin_of_first/ { first += $NF }
    /;main;second;inner_of_second;spin_of_second/ { second += $NF }
    END { printf "%d samples, %d and %d with names, %d wrong\n", n, first, second, bad; exit !(n && !bad && first > n / 4 && second > n / 4) }' "$work/listed.folded"
count $? "names and callers, as the code is replaced"
"$stackreel" info "$work/listed.reel" | grep -Eq 'JIT code +[1-9][0-9]* names, 0 lines, unwind information [2-9] times'
count $? "both kinds of unwind information are in the capture"
"$stackreel" verify -q "$work/listed.reel"
count $? "the capture is whole"

record damaged damaged
"$stackreel" verify -q "$work/damaged.reel" && grep -q ';main;.*;spin_of_first' "$work/damaged.folded" && ! grep -E 'first.*second|second.*first' "$work/damaged.folded"
count $? "a list without an end"
"$stackreel" info "$work/damaged.reel" | grep -q 'names of JIT'
count $? "what it held is counted as left out"
finish
