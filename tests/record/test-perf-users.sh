#!/bin/bash
# docs/perf-users.md: both commands of each row run here on a real program and produce output. If both report the hottest function, it is
# the same.
#
#   O=DIR   the object directory (build)
# run.sh: records thorough
# checks: docs =record =record/options
. "$(dirname "$0")/../count.sh"
O=$(realpath "${O:-build}")
busy=
trap '[ -z "$busy" ] || kill "$busy" 2>/dev/null; rm -rf "$work"' EXIT
export LC_ALL=C.UTF-8 HOME=$work PAGER=cat

if ! "$O/stackreel-record" -q -o "$work/try.reel" true >/dev/null 2>"$work/err"; then
    skip "cannot record here: $(head -n 1 "$work/err")"
    finish
fi
if ! perf record -q -e cpu-clock -o "$work/try.data" true >/dev/null 2>"$work/err"; then
    skip "perf cannot record here: $(head -n 1 "$work/err")"
    finish
fi
ok "build orders" g++ -O2 -g -fomit-frame-pointer -o "$work/orders" testdata/programs/orders.cc
PATH=$O:$PATH
page=$PWD/docs/perf-users.md
cd "$work" || exit
./orders 60 >/dev/null &
busy=$!
export PID=$busy
stackreel-record -q -F 999 -o b.reel -- ./orders 1 >/dev/null 2>err
count $? "another recording"

# The commands in the tables' rows, one row per line, separated by tabs: the text in backquotes that starts with either program.
awk -F '|' '/^\|/ {
    n = 0
    for (i = 2; i < NF; i++) {
        text = $i
        while (match(text, /`[^`]*`/)) {
            command = substr(text, RSTART + 1, RLENGTH - 2)
            text = substr(text, RSTART + RLENGTH)
            if (i < 4 && command ~ /^(perf|stackreel|stackreel-record) /)
                printf "%s%s", n++ ? "\t" : "", command
        }
    }
    if (n) print ""
}' "$page" >rows
[ "$(wc -l <rows)" -ge 20 ]
count $? "rows: $(wc -l <rows)"

# gives COMMAND: it succeeds, and prints or writes something.
gives() {
    case $1 in
    # This machine may have no cycle counter.
    "perf record -F"*) set -- "perf record -e cpu-clock ${1#perf record }" ;;
    esac
    touch before
    timeout 60 bash -c "$1" >given 2>given.err </dev/null
    status=$?
    [ $status = 0 ] && { [ -s given ] || [ -n "$(find . -newer before -size +0 ! -name 'given*' -print -quit)" ]; } && return
    head -n 5 given.err
    return 1
}
while IFS=$'\t' read -r -a commands; do
    for command in "${commands[@]}"; do
        case $command in
        "perf buildid-cache -l" | "perf inject "*) timeout 60 bash -c "$command" >given 2>given.err </dev/null && count 0 "$command" || count 1 "$command" ;;
        *) ok "$command" gives "$command" ;;
        esac
    done
done <rows

first() { awk '/^ *[0-9]+\.[0-9]+ ?%/ { print; exit }' "$1"; }
perf report -i perf.data --stdio --no-children -g none 2>/dev/null | grep -v '^#' >perfs
stackreel report a.reel >ours 2>/dev/null
function=$(first perfs | sed -E 's/.*\[\.\] //; s/ *$//')
[ -n "$function" ] && first ours | grep -qF "${function%%(*}"
count $? "same first function: $function, $(first ours)"
finish
