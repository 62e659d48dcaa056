#!/bin/bash
# What frame-pointer walks miss in common programs: prints the table of docs/frame-pointers.md, a line per program.
#
#   bench/frame-pointers.sh [NAME...]     names from tests/truth/program_list.sh or from below (default: all in that page)
#
# Records each program with --fp, so that every sample has a frame-pointer walk, as perf's, and its stack. Programs that are not installed
# are skipped by name. sqlite3 is also built with the flags of Ubuntu 24.04 and Fedora 38 (sqlite3-keep), and run with a C library built
# with the same flags (sqlite3-keep-libc; this takes ten minutes the first time). Needs root and BPF. KEEP=DIR keeps the captures there.
# shellcheck disable=SC2016 # commands are expanded where they are run
set -u
cd "$(dirname "$0")/.." || exit
O=$(realpath "${O:-build}") sources=$PWD/tests/truth/programs truth=$PWD/tests/truth
export sources truth LC_ALL=C
wanted=("$@")
[ $# -gt 0 ] || wanted=(xz git-gc openssl-p521 perl python sqlite3 cc1plus redis node java sqlite3-keep sqlite3-keep-libc go java-frame-pointer)
work=$(mktemp -d "${TMPDIR:-/var/tmp}/stackreel-frame-pointers.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
chmod 711 "$work"
"$O/stackreel-record" -q -o "$work/probe.reel" -- true 2>"$work/err" || { echo "bench/frame-pointers.sh: $(head -n 1 "$work/err")" >&2; exit 77; }

# Percentages of the samples, and of all frames.
print_row() {
    awk -v name="$1" '
        function number(text) { gsub(/[,%]/, "", text); return text }
        /^# compared with/ { samples = number($8) }
        / nothing is missing$/ { whole = $2 }
        / the caller of the leaf function$/ { caller = $2 }
        / all frames from some point on$/ { rest = $2 }
        / addresses that are not in this stack$/ { wrong = $2 }
        /^# frames lost: / { lost = number($4); frames = number($6) }
        END { if (samples) printf "| %s | %d | %.1f | %s | %s | %s | %s | %.2f |\n", name, samples, frames / samples, whole, caller, rest, wrong, 100 * lost / frames }'
}

program() {
    local name=$1 needs=$2 prepare=$3 command=$4 lacks
    [[ " ${wanted[*]} " == *" $name "* ]] || return 0
    # shellcheck disable=SC2086 # words
    lacks=$(missing $needs)
    [ -z "$lacks" ] || { echo "$name: $lacks is not installed" >&2; return; }
    mkdir -m 755 "$work/$name"
    # The recorder exits with the status of the program, which timeout may have stopped.
    (
        cd "$work/$name" && sh -ec "$prepare" || exit
        "$O/stackreel-record" -q --fp -F 999 -o a.reel -- sh -c "$command"
        "$O/stackreel" report -q --compare-fp a.reel >report
    ) >"$work/log" 2>&1 </dev/null || { echo "$name: $(tail -n 1 "$work/log")" >&2; return; }
    print_row "$name" <"$work/$name/report"
    [ -z "${KEEP:-}" ] || cp "$work/$name/a.reel" "$KEEP/$name.reel"
    rm -rf "${work:?}/$name"
}

echo "| program | samples | frames per sample | walk is whole | leaf's caller missing | ends too early | goes astray | frames lost |"
echo "|---|---:|---:|---:|---:|---:|---:|---:|"
# shellcheck source=tests/truth/program_list.sh
. tests/truth/program_list.sh
program python /usr/bin/python3 : '/usr/bin/python3 "$sources/python.py" 2'
program cc1plus g++ : 'timeout 2 g++ -O2 -c -o out.o "$sources/exceptions.cc"; timeout 2 g++ -O3 -c -o out.o "$sources/exceptions.cc"'
query='for i in 1 2 3 4 5 6 7 8; do cat "$sources/sqlite.sql"; done >query'
run='-batch -init query :memory: .exit'
program sqlite3 sqlite3 "$query" "sqlite3 $run"
export FLAGS='-g -O2 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer'
program sqlite3-keep g++ "$query"'; ln -s "$("$truth/sqlite.sh")" keep' "keep/sqlite3 $run"
program sqlite3-keep-libc 'g++ bison gawk' "$query"'; ln -s "$("$truth/sqlite.sh")" keep; ln -s "$("$truth/glibc.sh")" libc' \
    "libc/ld.so --library-path libc:/usr/lib/$(uname -m)-linux-gnu keep/sqlite3 $run"
