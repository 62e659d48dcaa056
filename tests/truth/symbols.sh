#!/bin/bash
# symbols.sh [--quick] - compare functions, inlined functions, files and lines of captures with llvm-symbolizer, addr2line and eu-addr2line
#
# Records real programs, and asks the three for every unique address of the traces, as it was looked up.  Each module of a capture
# is a case; it fails if two of the three agree with each other but not with us, or if none agrees with us.  tests/names/test-symbols.sh
# covers every instruction of small programs; here are large programs by other people, through the library's traces.
# --quick uses two programs and at most 150 addresses of a module.
#
# Known differences:
#   addr2line, function   names the nearest symbol before an unnamed address, and gives a function without linkage
#                         name the name of the symbol that it is inlined into
#   addr2line, file       2.40 uses file 1 instead of file 0 of DWARF 5 line tables (2.45 does not)
#   llvm, function        _init for the PLT, which has no symbol; of several symbols at an address it picks a different one
#   addr2line and eu      miss inlined calls whose ranges have an indexed base, as in clang's DWARF 5 (symbol_oracles.py,
#                         misses_inlined)
#   eu, depth             0.188 and 0.196 omit a frame at the same line and column as the previous one, or print one twice
#   eu, file and line     uses the last row of an ended sequence, and of several rows at an address a different one
# "but for forms": clones (.cold, .part.0) and names with and without their class; ./csu/./csu for ./csu (replay/dwarf/line_table.c).
#   O=DIR             the object directory (build)
#   LLVM_SYMBOLIZER, ADDR2LINE, EU_ADDR2LINE    commands to use for the three
. "$(dirname "$0")/../count.sh"
export O=${O:-build}
limit=0
dir=$work

# record NAME COMMAND: makes a capture for the comparison.
record() {
    if eval "nice $O/stackreel-record -q -F 999 -o $dir/$1.reel -- $2" >"$dir/log" 2>&1 && [ -s "$dir/$1.reel" ]; then
        if "$O/tests/names/trace_symbols" "$dir/$1.reel" >"$dir/$1.answers" 2>"$dir/log"; then
            return
        fi
        failed=$((failed + 1))
        echo "FAIL $1: $(tail -n 1 "$dir/log")"
    else
        skip "cannot record $1: $(tail -n 1 "$dir/log")"
    fi
    rm -f "$dir/$1.answers"
}

workload() {
    local command
    if command=$(SECONDS_OF_CPU=$seconds tests/truth/workloads.sh "$1" 2>"$dir/log"); then
        record "$1" "$command"
    else
        skip "$1: $(tail -n 1 "$dir/log")"
    fi
}

# built NAME COMPILER OPTION... SOURCE
built() {
    local name=$1
    shift
    if ! command -v "$1" >/dev/null; then
        skip "$name: $1 is not installed"
    elif nice "$@" -o "$dir/$name" 2>"$dir/log"; then
        record "$name" "$dir/$name $seconds"
    else
        skip "$name: $(grep -m 1 -i error "$dir/log")"
    fi
}

matrix() {
    local compiler dwarf level source=tests/truth/programs/exceptions.cc lto
    for compiler in g++ clang++; do
        for dwarf in 4 5; do
            for level in 0 1 2 3; do
                built "$compiler-O$level-dwarf$dwarf" $compiler -std=c++17 -g -gdwarf-$dwarf -O$level $source
            done
        done
        lto=-flto
        [ $compiler = clang++ ] && lto="-flto -fuse-ld=lld"
        # shellcheck disable=SC2086 # two options
        built "$compiler-lto" $compiler -std=c++17 -g -O2 $lto $source
    done
    for level in 0 2 3; do
        built "rustc-O$level" rustc -g -C opt-level=$level tests/programs/words.rs
    done
    built "rustc-lto" rustc -g -C opt-level=3 -C lto tests/programs/words.rs
}

for program in "$O/stackreel-record" "$O/tests/names/trace_symbols"; do
    [ -x "$program" ] || {
        skip "$program is not built"
        finish
    }
done
for tool in ${LLVM_SYMBOLIZER:-llvm-symbolizer} ${ADDR2LINE:-addr2line} ${EU_ADDR2LINE:-eu-addr2line} nm python3; do
    command -v "$tool" >/dev/null || {
        skip "$tool is not installed"
        finish
    }
done

case ${1-} in
--quick)
    seconds=1 limit=150
    workload exceptions
    workload python
    ;;
'')
    seconds=3
    for name in exceptions recursion threads python compile sqlite; do workload $name; done
    seconds=1
    matrix
    ;;
*)
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac

# compare WHOSE LLVM-SYMBOLIZER ADDR2LINE EU-ADDR2LINE
compare() {
    local p='' f=''
    echo "== $1"
    nice python3 tests/truth/trace_symbols.py --limit $limit --llvm "$2" --addr2line "$3" --eu "$4" "${answers[@]}" >"$dir/table"
    cat "$dir/table"
    read -r p f < <(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$dir/table")
    if [ -z "$p" ]; then
        failed=$((failed + 1))
        echo "FAIL $1: trace_symbols.py"
    else
        passed=$((passed + p)) failed=$((failed + f))
    fi
}

# The same tools from Debian's unstable release, which have fewer bugs: elfutils before 0.191 finds no unit without .debug_aranges,
# which clang and rustc do not write.
newest() {
    local root lib run symbolizer
    if ! root=$(tests/vm/sysroot.sh sid "$(uname -m)" binutils elfutils llvm 2>"$dir/log"); then
        skip "the newest tools: $(tail -n 1 "$dir/log")"
        return
    fi
    lib=$(echo "$root"/usr/lib/*-linux-gnu)
    symbolizer=$(echo "$root"/usr/lib/llvm-*/bin/llvm-symbolizer)
    run="$(echo "$lib"/ld-linux*.so.*) --library-path $lib:${symbolizer%/bin/*}/lib"
    compare "of Debian's unstable release" "$run $symbolizer" "$run $(echo "$root"/usr/bin/*-linux-gnu-addr2line)" \
        "$run $root/usr/bin/eu-addr2line"
}

shopt -s nullglob
answers=("$dir"/*.answers)
[ ${#answers[@]} -gt 0 ] || finish
compare "of this host" "${LLVM_SYMBOLIZER:-llvm-symbolizer}" "${ADDR2LINE:-addr2line}" "${EU_ADDR2LINE:-eu-addr2line}"
[ "${1-}" = --quick ] || newest
finish
