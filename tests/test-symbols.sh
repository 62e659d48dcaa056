#!/bin/bash
# Symbols, inlined functions and lines against llvm-symbolizer and addr2line: for each instruction of
# tests/programs/inlines.*, built by each compiler at each optimisation level, in each form that
# debug information comes in.  A case fails where those two agree with each other and not with us.
# Where they disagree, the log says with which of them we are.
#
# Known differences, all for a reason:
#   - addr2line names the nearest symbol before a gap between symbols; we name none (nor does llvm).
#   - llvm-symbolizer takes _init for the PLT, which has no symbol; we name none (nor does addr2line).
#   - GNU addr2line calls a cold part as its DWARF does (cold_path), we as nm does (_ZL9cold_pathi.cold).
#   - GNU addr2line 2.40 misreads file 0 of DWARF 5 line tables, and clang's DW_AT_ranges of inlined calls.
#
#   O=DIR   where tests/symbolize was built (build)
# run.sh: makes thorough
set -u
cd "$(dirname "$0")/.." || exit
O=${O:-build}
symbolize=$O/tests/symbolize
[ "${O#/}" = "$O" ] && symbolize=$PWD/$symbolize
. tests/count.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

pass() { passed=$((passed + 1)); }
fail() {
    failed=$((failed + 1))
    echo "FAILED: $1"
    sed 's/^/    /' "$dir/log" 2>/dev/null
}
skip() {
    skipped=$((skipped + 1))
    echo "skip: $1: $2"
}
have() { command -v "$1" >/dev/null 2>&1; }

[ -x "$symbolize" ] || make -s O="$O" "$O/tests/symbolize" >"$dir/log" 2>&1 || {
    fail "building $symbolize"
    finish
}
for tool in llvm-symbolizer addr2line objdump python3; do
    have $tool || {
        skip "all" "$tool is not installed"
        finish
    }
done

# compare NAME FILE [OPTION...]
compare() {
    local name=$1 file=$2
    shift 2
    if python3 tests/symbol_differences.py "$symbolize" "$file" "$@" >"$dir/log" 2>&1; then
        pass
        echo "$name: $(head -n 1 "$dir/log")"
        [ "${V-}" ] && sed 1d "$dir/log"
    else
        fail "$name"
    fi
}

addresses() { objdump -d -w "$1" | sed -n 's/^ *\([0-9a-f]*\):\t.*/\1/p'; }

# Whether the functions' demangled names are among those that nm -C, with libiberty's demangler too, has
# for the address (identical functions may have been folded into one).
compare_demangled() {
    local name=$1 file=$2
    nm -C --defined-only "$file" | sed -n 's/^\([0-9a-f]*\) [tTwW] /\1 /p' | grep -v ' data_start$' | sort >"$dir/names"
    cut -d ' ' -f 1 "$dir/names" | uniq >"$dir/addresses"
    "$symbolize" "$file" <"$dir/addresses" | awk 'BEGIN { RS = ""; FS = "\n" } { print $(NF - 1) }' |
        paste -d ' ' "$dir/addresses" - | sort | comm -23 - "$dir/names" >"$dir/log"
    if [ "$(wc -l <"$dir/addresses")" -gt 50 ] && [ ! -s "$dir/log" ]; then pass; else fail "$name"; fi
}

# build NAME COMMAND...: false, and a skip, if it can't be built here.
build() {
    local name=$1
    shift
    have "$1" || {
        skip "$name" "$1 is not installed"
        return 1
    }
    "$@" >"$dir/build" 2>&1 || {
        skip "$name" "$(grep -m 1 -i error "$dir/build")"
        return 1
    }
}

source=tests/programs/inlines.cc
for compiler in g++ clang++; do
    for dwarf in 4 5; do
        for level in 0 1 2 3; do
            name="$compiler -O$level -gdwarf-$dwarf"
            build "$name" $compiler -g -O$level -gdwarf-$dwarf $source -o "$dir/a" && compare "$name" "$dir/a"
        done
        name="$compiler -flto -gdwarf-$dwarf"
        lto=-flto
        [ $compiler = clang++ ] && lto="-flto -fuse-ld=lld"
        build "$name" $compiler -g -O2 $lto -gdwarf-$dwarf $source -o "$dir/a" && compare "$name" "$dir/a"
        name="$compiler -ffunction-sections -gdwarf-$dwarf"
        build "$name" $compiler -g -O2 -ffunction-sections -Wl,--gc-sections -gdwarf-$dwarf $source \
            -o "$dir/a" && compare "$name" "$dir/a"
    done
done

name="code at p_vaddr != p_offset (lld)"
build "$name" clang++ -g -O2 -fuse-ld=lld $source -o "$dir/a" && compare "$name" "$dir/a"
name="not position-independent"
build "$name" g++ -g -O2 -no-pie $source -o "$dir/a" && compare "$name" "$dir/a"
name="64-bit DWARF"
build "$name" g++ -g -O2 -gdwarf64 -gdwarf-5 $source -o "$dir/a" && compare "$name" "$dir/a"
name="without .debug_aranges and with .debug_types"
build "$name" g++ -g -O2 -gdwarf-4 -fdebug-types-section $source -o "$dir/a" &&
    objcopy --remove-section=.debug_aranges "$dir/a" && compare "$name" "$dir/a"
for kind in zlib zlib-gnu; do
    name="compressed, $kind"
    build "$name" g++ -g -O2 -gz=$kind $source -o "$dir/a" && compare "$name" "$dir/a"
done

name="separate debug file"
if build "$name" g++ -g -O2 $source -o "$dir/a"; then
    objcopy --only-keep-debug "$dir/a" "$dir/a.debug"
    strip -o "$dir/stripped" "$dir/a"
    addresses "$dir/a" >"$dir/addresses"
    "$symbolize" "$dir/a" <"$dir/addresses" >"$dir/whole"
    "$symbolize" --debug "$dir/a.debug" "$dir/stripped" <"$dir/addresses" >"$dir/separate"
    if diff "$dir/whole" "$dir/separate" >"$dir/log"; then pass; else fail "$name"; fi
fi

# What dwz moves to another file is found again through .gnu_debugaltlink.
name="dwz"
if ! have dwz; then
    skip "$name" "dwz is not installed"
elif build "$name" g++ -g -O2 $source -o "$dir/a" && build "$name" g++ -g -O1 $source -o "$dir/b"; then
    cp "$dir/a" "$dir/whole"
    if (cd "$dir" && dwz -m common.dwz a b) >"$dir/log" 2>&1; then
        addresses "$dir/a" >"$dir/addresses"
        "$symbolize" "$dir/whole" <"$dir/addresses" >"$dir/before"
        "$symbolize" --alternate "$dir/common.dwz" "$dir/a" <"$dir/addresses" >"$dir/after"
        if diff "$dir/before" "$dir/after" >"$dir/log"; then pass; else fail "$name"; fi
    else
        fail "$name"
    fi
fi

# The .dwo files are not there: lines and symbols remain.
for dwarf in 4 5; do
    name="split DWARF $dwarf without its .dwo"
    build "$name" g++ -g -O2 -gdwarf-$dwarf -gsplit-dwarf $source -o "$dir/split" && {
        rm -f "$dir"/*.dwo
        compare "$name" "$dir/split"
        addresses "$dir/split" | "$symbolize" "$dir/split" 2>"$dir/log" >/dev/null
        if grep -qE '^symbolize: debug information is in [^ ]*\.dwo, which is not read' "$dir/log"; then pass; else fail "$name: it is not said"; fi
    }
done

for cpu in aarch64 s390x riscv64; do
    for level in 0 2; do
        name="$cpu -O$level"
        build "$name" $cpu-linux-gnu-gcc -g -O$level -nostdlib -static tests/programs/inlines.c -o "$dir/a" &&
            compare "$name" "$dir/a" --addr2line $cpu-linux-gnu-addr2line --objdump $cpu-linux-gnu-objdump
    done
done

for mangling in legacy v0; do
    for level in 0 2 3; do
        name="rustc -O$level, $mangling names"
        # The option for legacy names counts as unstable.
        build "$name" env RUSTC_BOOTSTRAP=1 rustc -Z unstable-options -g -C opt-level=$level \
            -C symbol-mangling-version=$mangling tests/programs/inlines.rs -o "$dir/rust" || continue
        compare "$name" "$dir/rust" --every 37
        [ $level = 0 ] && compare_demangled "$name, demangled" "$dir/rust"
    done
done

for compiler in g++ clang++; do
    name="$compiler, demangled"
    build "$name" $compiler -g -O0 $source -o "$dir/a" && compare_demangled "$name" "$dir/a"
done
finish
