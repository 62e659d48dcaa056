#!/bin/bash
# Names for code without symbols. Compares the names for stripped copies of programs with what nm, objdump and the compilers' own tools
# report for the originals.
#
#   O=DIR   the object directory (build)
# run.sh: thorough
# checks: replay/dwarf cfi =replay/names
. "$(dirname "$0")/../count.sh"

have() { command -v "$1" >/dev/null 2>&1; }
# address FILE FUNCTION: its address by nm, without leading zeros.
address() { nm "$1" | sed -n "s/^0*\([0-9a-f]*\) [tT] $2\$/\1/p"; }

for tool in cc nm strip objdump objcopy; do
    have $tool || {
        skip "$tool is not installed"
        finish
    }
done

# ---- unwind entries as names --------------------------------------------------------------------------------

ok "tests/programs/stripped.c" cc -O2 -g -rdynamic tests/programs/stripped.c -o "$work/twin"
[ "$failed" = 0 ] || finish
strip -o "$work/stripped" "$work/twin"
first=$(address "$work/twin" first) second=$(address "$work/twin" second)
addresses() { objdump -d --no-show-raw-insn "$1" | sed -n 's/^ *\([0-9a-f]*\):\t.*/\1/p'; }

# For each instruction, the stripped file gives the unwind entry of the function that the original names.
addresses "$work/twin" >"$work/addresses"
"$O/tests/names/symbolize" --offsets --no-inlines "$work/twin" <"$work/addresses" | grep '+0x' >"$work/named"
"$O/tests/names/symbolize" --offsets --no-inlines "$work/stripped" <"$work/addresses" | grep '+0x' >"$work/unnamed"
one_by_one() {
    paste "$work/named" "$work/unnamed" | awk -v FS='\t' '
        /^(first|second)\+/ { n++; split($1, a, "+"); if ($2 != "[fde]+" a[2]) { print; bad = 1 } }
        END { if (n < 10) { print n " instructions"; bad = 1 }; exit bad }'
}
ok "each instruction gets its function's unwind entry" one_by_one
# `table` has the same ranges for both; only the names are missing.
ranges() {
    "$O/stackreel" table "$work/$1" | sed -n 's/.* \([0-9a-f]*-[0-9a-f]*\) *\([a-z_]*\)$/\1 \2/p' | sort -u
}
in_table() {
    local at
    diff <(ranges twin | cut -d ' ' -f 1) <(ranges stripped | cut -d ' ' -f 1) || return
    for name in first second; do
        at=$(address "$work/twin" $name)
        grep "^$at-.* $name\$" <(ranges twin) && grep "^$at-[0-9a-f]* \$" <(ranges stripped) || return
    done
}
ok "unwind entries in table" in_table
# A symbol without size ends where its code does, and names only its own two instructions.
sizeless() { [ "$(grep -c '^sizeless+' "$work/unnamed")" = 2 ]; }
ok "a symbol without size names its instructions" sizeless
behind() {
    paste "$work/named" "$work/unnamed" | awk -v FS='\t' '/^behind_it\+/ { n++; if ($2 != "??+0x0") { print; bad = 1 } } END { exit n < 2 || bad }'
}
ok "a symbol without size ends where its code does" behind

# ---- PLT stubs ------------------------------------------------------------------------------------------------------

# stubs FILE OBJDUMP: each stub that objdump names has the same name here, starting from its first byte. Stubs for which objdump only has a
# resolver's address (IRELATIVE) may have a name here.
stubs() {
    "$2" -d --no-show-raw-insn "$1" | sed -n 's/^0*\([0-9a-f]*\) <\(.*\)@plt>:$/\1 \2@plt/p' >"$work/wanted"
    cut -d ' ' -f 1 "$work/wanted" | "$O/tests/names/symbolize" --offsets --no-inlines --no-demangle "$1" | grep '+0x' >"$work/got"
    paste -d ' ' "$work/wanted" "$work/got" |
        awk '{ n++ } $3 != $2 "+0x0" && !($2 ~ /^\*ABS\*/ && $3 ~ /@plt\+0x0$/) { print; bad = 1 } END { if (!n) print "no stubs"; exit bad || !n }'
}
for program in bash dpkg git gdb make perl python3 systemctl ssh awk; do
    file=$(realpath "$(command -v $program)" 2>/dev/null) || continue
    objdump -h "$file" 2>/dev/null | grep -q ' \.plt' || continue # missing, or a script
    ok "PLT of $program" stubs "$file" objdump
done
for library in $(ldd "$O/stackreel" | sed -n 's/.* => \(.*\) (.*/\1/p'); do
    # Some need no other library.
    objdump -h "$library" | grep -q ' \.plt' && ok "PLT of ${library##*/}" stubs "$library" objdump
done
for cpu in "$(uname -m)" aarch64 i686 riscv64 s390x; do
    cc=$cpu-linux-gnu-gcc
    have "$cc" || {
        skip "$cc is not installed"
        continue
    }
    for options in -no-pie -Wl,-z,now -Wl,-z,lazy "-fcf-protection=full -Wl,-z,ibtplt" "-fcf-protection=full -Wl,-z,ibtplt,-z,now" \
        "-mbranch-protection=standard -Wl,-z,force-bti" "-mbranch-protection=standard -Wl,-z,pac-plt"; do
        # shellcheck disable=SC2086 # several options
        if $cc -O1 $options tests/programs/stripped.c -o "$work/stubs" 2>/dev/null; then
            "$cpu-linux-gnu-strip" "$work/stubs"
            ok "PLT, $cpu $options" stubs "$work/stubs" "$cpu-linux-gnu-objdump"
        fi
    done
done

# objdump does not know lld's retpoline stubs. But -q keeps relocations, which name the function of each call.
calls_of() {
    objdump -dr --no-show-raw-insn "$1" |
        awk '/\tcall / { target = $3 } /R_[0-9A-Z_]*_(PLT|PC)32\t(one|two)/ { print target, substr($3, 1, 3) "@plt" }'
}
# retpolines FILE: each byte of the two stubs that are called has the stub's name
retpolines() {
    calls_of "$1" >"$work/calls"
    [ "$(cut -d ' ' -f 2 "$work/calls" | tr '\n' ' ')" = "one@plt two@plt " ] || return
    while read -r address name; do
        for at in {0..15}; do printf '%x %s+0x%x\n' $((0x$address + at)) "$name" $at; done
    done <"$work/calls" >"$work/wanted"
    cut -d ' ' -f 1 "$work/wanted" | "$O/tests/names/symbolize" --offsets --no-inlines "$1" | grep '+0x' | diff - <(cut -d ' ' -f 2 "$work/wanted")
}
if have clang && have ld.lld && objdump --info | grep -q elf32-i386; then
    echo 'int one(void) { return 1; } int two(void) { return 2; }' >"$work/callees.c"
    echo 'int one(void), two(void); int calls(void) { return one() + two(); }' >"$work/calls.c"
    for cpu in x86_64 i386; do
        lld="clang --target=$cpu-linux-gnu -O1 -nostdlib -fuse-ld=lld"
        # shellcheck disable=SC2086 # several options
        ok "lld's library, $cpu" $lld -fPIC -shared "$work/callees.c" -o "$work/libcallees.so"
        for options in "-fPIC -shared" "-fno-pic -no-pie -Wl,-e,calls"; do
            for binding in lazy now; do
                # shellcheck disable=SC2086 # several options
                ok "lld, $cpu $options $binding" $lld $options "-Wl,-q,-z,retpolineplt,-z,$binding" "$work/calls.c" "$work/libcallees.so" -o "$work/retpoline"
                ok "retpoline PLT, $cpu $options $binding" retpolines "$work/retpoline"
            done
        done
    done
else
    skip "no clang with lld, or no objdump that supports i386"
fi

# ---- MiniDebugInfo ------------------------------------------------------------------------------------------------------

# mini FILE OUTPUT: makes a stripped file with .gnu_debugdata, as described in gdb's manual ("MiniDebugInfo"), of the functions that .dynsym
# does not have.
mini() {
    nm -D "$1" --format=posix --defined-only | cut -d ' ' -f 1 | sort >"$work/dynamic"
    nm "$1" --format=posix --defined-only | awk '$2 ~ /^[Tt]$/ { print $1 }' | sort -u >"$work/functions"
    comm -13 "$work/dynamic" "$work/functions" >"$work/keep"
    objcopy --only-keep-debug "$1" "$work/debug" &&
        objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols="$work/keep" "$work/debug" "$work/mini" &&
        rm -f "$work/mini.xz" && xz "$work/mini" && strip -o "$2" "$1" && objcopy --add-section .gnu_debugdata="$work/mini.xz" "$2"
}
# with_mini NAME FILE COUNT: functions have the original's names, and gdb reads the section as well.
with_mini() {
    nm "$2" | sed -n 's/^\([0-9a-f]*\) [tT] .*/\1/p' | sort -u >"$work/addresses"
    "$O/tests/names/symbolize" --offsets --no-inlines "$2" <"$work/addresses" | grep '+0x' >"$work/wanted"
    ok "$1: mini" mini "$2" "$work/with" || return
    "$O/tests/names/symbolize" --offsets --no-inlines "$work/with" <"$work/addresses" | grep '+0x' >"$work/got"
    ok "$1: names by .gnu_debugdata" diff "$work/wanted" "$work/got"
    ok "$1: enough names" test "$(sort -u "$work/wanted" | wc -l)" -ge "$3"
}
if have xz; then
    with_mini stripped.c "$work/twin" 3
    # A few thousand functions.
    with_mini stackreel "$O/stackreel" 1000
    if have gdb; then
        at=$(address "$work/twin" first)
        mini "$work/twin" "$work/with"
        ok "gdb reads it" grep -q '^first in section' <<<"$(gdb -batch -nx -ex "info symbol 0x$at" "$work/with" 2>&1)"
    fi
else
    skip "xz is not installed"
fi

# ---- inlined functions without a linkage name ------------------------------------------------------------------------------

# scopes COMPILER: names of namespaces and classes, as in gdb's backtrace.
scopes() {
    "$1" -g -O2 tests/programs/scopes.cc -o "$work/scopes" && addresses "$work/scopes" | "$O/tests/names/symbolize" "$work/scopes" >"$work/got" &&
        for name in 'outer::(anonymous namespace)::hidden' 'outer::Klass::method' 'outer::fixed'; do
            grep -qF "$name" "$work/got" || { echo "no $name" && return 1; }
        done && ! grep -E '^(hidden|fixed|method|.anonymous)' "$work/got"
}
# as_gdb: the frames at one address, as in gdb's backtrace.
as_gdb() {
    gdb -nx -batch -ex 'break scopes.cc:13' -ex run -ex 'info registers rip' -ex bt "$work/scopes" >"$work/gdb" 2>&1 </dev/null
    sed -n 's/^#[0-3] *\(.*\) (.*) at .*/\1/p' "$work/gdb" >"$work/wanted"
    sed -n 's/.*0x\([0-9a-f]*\) .*<.*+\([0-9]*\)>$/\2/p' "$work/gdb" | head -n 1 >"$work/offset"
    printf '%x\n' $((0x$(nm -C "$work/scopes" | sed -n 's/ T outer::top.*//p') + $(cat "$work/offset"))) | "$O/tests/names/symbolize" "$work/scopes" | sed -n 's/(int)$//; 1p; 3p; 5p; 7p' >"$work/got"
    [ "$(wc -l <"$work/wanted")" = 4 ] && diff "$work/wanted" "$work/got" || { cat "$work/gdb" && return 1; }
}
for compiler in g++ clang++; do
    if have $compiler; then ok "namespaces of inlined functions, $compiler" scopes $compiler && { [ "$(uname -m)" != x86_64 ] || ! have gdb || ok "same as gdb, $compiler" as_gdb; }; else skip "$compiler is not installed"; fi
done

# ---- Go -----------------------------------------------------------------------------------------------------------------

# build NAME OPTION...: ignores the user's Go module settings.
build() { env GO111MODULE=off GOFLAGS= GOCACHE="$work/go" go build -o "$work/$1" "${@:2}" tests/programs/inlines.go; }
# innermost: compares with the Go runtime's result for each instruction (runtime.CallersFrames).
innermost() {
    addresses "$work/go-twin" | awk 'NR % 7 == 0' >"$work/addresses"
    "$work/go-stripped" <"$work/addresses" >"$work/wanted"
    "$O/tests/names/symbolize" "$work/go-stripped" <"$work/addresses" |
        awk 'BEGIN { RS = ""; FS = "\n" } { sub(/:[0-9]*$/, "", $2); print $1, $2 }' >"$work/got"
    # The runtime prints ? for a missing line, and treats the table's first name, at offset 0, as missing.
    sed -i 's/ ?:0$/ ??:0/' "$work/wanted"
    paste -d '|' "$work/addresses" "$work/wanted" "$work/got" |
        awk -F '|' '$2 == "another function" || $2 ~ /^ / { next } { n++ } $2 != $3 { bad++; print } END { print n, bad + 0; exit n < 5000 || bad }'
}
# chains NAME OPTION...: functions, inlined functions and lines equal those from the original's DWARF.  Known differences: names that only
# the symbol table has (.abi0, and type arguments instead of [...]); wrappers into which the compiler inlined the wrapped function;
# functions without a source line; and the innermost line, as the two tables start lines at different instructions (`innermost` compares the
# runtime's).
chains() {
    build "$1-twin" "${@:2}" && build "$1-stripped" "${@:2}" 2>&1 && strip -s "$work/$1-stripped" || return
    addresses "$work/$1-twin" | awk 'NR % 7 == 0' >"$work/addresses"
    for file in twin stripped; do
        "$O/tests/names/symbolize" "$work/$1-$file" <"$work/addresses" |
            awk 'BEGIN { RS = ""; FS = "\n" } { for (i = 2; i <= NF; i += 2) sub(/:[0-9]*$/, "", $i); sub(/:[0-9]*$/, "", $2); $1 = $1; print }' |
            sed -E 's/\.abi0 / /; s|\./<autogenerated>|<autogenerated>|g; s/\[[^ ]*\]/[]/g' >"$work/$file.chains"
    done
    paste -d '|' "$work/addresses" "$work/twin.chains" "$work/stripped.chains" | awk -F '|' '
        $2 ~ /^\?\?/ || $2 ~ /^(_init|_start|_fini|.*tm_clones|.*_dummy|.*dtors_aux|x_cgo|_cgo|crosscall|runtime.etext)/ { next }
        $2 ~ /gcc_[a-z0-9_]*\.c/ { next } # C
        { n++ } split($3, a, " ") > 2 { inlined++ }
        $2 != $3 && $3 !~ /<autogenerated>/ && $2 !~ /\?\?/ { bad++; print }
        END { print n, inlined + 0, bad + 0; exit n < 5000 || inlined < 300 || bad }'
}
# switches: traces continue from the scheduler's stack to the caller of systemstack, with names and up to the root.  A signal handler on top
# of it has no goroutine stack in the file. While the scheduler looks for a goroutine, the trace ends, as it does for an instruction or two
# when systemstack returns.
switches() {
    "$O/stackreel-record" -q -F 999 -o "$work/go.reel" -- "$1" 1 >"$work/out" && "$O/stackreel" script -q "$work/go.reel" >"$work/script" &&
        awk -v RS= '/ runtime\.systemstack(\.abi0)?\+/ && !/ runtime\.(rt0_go|mstart)(\.abi0)?\+/ {
            n++; if (!/ runtime\.systemstack[^\n]*\n[^\n]* (runtime|main)\.[^\n]*\n(.*\n)?[^\n]* runtime\.goexit(\.abi0)?\+/ && !/ runtime\.sigreturn/) { bad++; print } }
            END { print n + 0, bad + 0; exit n < 3 || bad > 1 + n / 50 }' "$work/script"
}
# packed: the same traces from the packed recording of `switches`, except for inlined calls.
packed() {
    "$O/stackreel" pack -q -o "$work/packed.reel" "$work/go.reel" && "$O/stackreel" script -q --no-inline "$work/go.reel" >"$work/wanted" &&
        "$O/stackreel" script -q --no-inline --no-host-files "$work/packed.reel" >"$work/got" && cmp "$work/wanted" "$work/got"
}
# frames: each row that Go's linker wrote to .debug_frame is rebuilt from .gopclntab.  The linker's functions end with their code, ours
# where the next one begins.
frames() {
    "$O/stackreel" table "$work/go-twin" >"$work/wanted" && "$O/stackreel" table "$work/go-stripped" >"$work/got" && python3 - "$work/wanted" "$work/got" <<'END'
import bisect
import sys

def rows(path):
    lines = (line.split() for line in open(path, encoding="utf-8") if line[0] != "#")
    return [(int(begin, 16), int(end, 16), rules) for begin, end, *rules in ([*line[:5]] for line in lines)]

wanted, got = map(rows, sys.argv[1:])
begins = [row[0] for row in got]
different = compared = 0
for begin, end, rules in wanted:
    for address in range(begin, end):
        i = bisect.bisect(begins, address) - 1
        compared += 1
        different += i < 0 or address >= got[i][1] or rules != got[i][2]
print(compared, "bytes of code,", different, "with other rows")
sys.exit(different > 0 or compared < 100000)
END
}
if ! have go; then
    skip "go is not installed"
elif [ "$(go env GOARCH)" != amd64 ]; then
    skip "go for $(go env GOARCH): the test needs x86-64"
else
    ok "go: build" build go-twin
    ok "go: build, stripped" build go-stripped -ldflags="-s -w"
    ok "go: the innermost function and its line" innermost
    ok "go: rows of a stripped program" frames
    if [ -x "$O/stackreel-record" ] && "$O/stackreel-record" -q -o "$work/probe.reel" -- true 2>"$work/log"; then
        for program in twin stripped; do
            ok "go: stack switches, $program" switches "$work/go-$program"
            ok "go: packed, same without the file, $program" packed
        done
    else
        skip "cannot record here: $(tail -n 1 "$work/log")"
    fi
    ok "go: inlined functions" chains exec
    ok "go: inlined functions, position-independent" chains pie -buildmode=pie
    ok "go: inlined functions, with the system's linker" chains external -ldflags=-linkmode=external
    ok "go: inlined functions, position-independent, with the system's linker" chains pie-external -buildmode=pie -ldflags=-linkmode=external
fi

# ---- output of the commands ------------------------------------------------------------------------------------------

if [ -x "$O/stackreel-record" ] && "$O/stackreel-record" -q -F 999 -o "$work/a.reel" -- "$work/stripped" 0.5 2>"$work/log"; then
    for function in $first $second; do
        name="stripped+0x$function [fde]"
        "$O/stackreel" report "$work/a.reel" >"$work/report"
        ok "report: one row" test "$(grep -cF "$name" "$work/report")" = 1
        "$O/stackreel" script "$work/a.reel" >"$work/script"
        ok "script: the name and an offset" grep -qE "^	 +[0-9a-f]+ stripped\+0x$function \[fde\]\+0x[0-9a-f]+ \($work/stripped\)$" "$work/script"
        "$O/stackreel" folded "$work/a.reel" >"$work/folded"
        ok "folded" grep -qE ";stripped\+0x$function \[fde\] [0-9]+$" "$work/folded"
        "$O/stackreel" report --tree "$work/a.reel" >"$work/tree"
        ok "report --tree: no parentheses, as this is not a function name" grep -qE "stripped\+0x$function \[fde\]$" "$work/tree"
        "$O/stackreel" table "$work/stripped" >"$work/table"
        ok "table: has the range" grep -q " $function-" "$work/table"
    done
    # No other name refers to these functions' addresses.
    ok "no rows for other addresses" test -z "$(grep -E 'stripped\+0x[0-9a-f]+ +stripped$' "$work/report")"
else
    skip "cannot record here: $(tail -n 1 "$work/log")"
fi
finish
