#!/bin/bash
# Compares symbols, inlined functions and lines with llvm-symbolizer and addr2line, for each instruction of
# tests/programs/inlines.*, built by each compiler at each optimisation level, with each form of
# debug information.  A case fails if the two agree with each other but not with us.
# If they disagree, the log shows which of them we agree with.
#
# Known differences, all deliberate:
#   - addr2line names the nearest symbol before a gap between symbols; we do not, and neither does llvm.
#   - llvm-symbolizer shows _init for the PLT; we show write@plt (addr2line shows no name).
#   - Both omit the namespaces and classes of functions without a linkage name; we show them, as gdb does.
#   - GNU addr2line names a cold part as in its DWARF (cold_path), we as in nm (_ZL9cold_pathi.cold).
#   - GNU addr2line 2.40 misreads file 0 of DWARF 5 line tables, and clang's DW_AT_ranges of inlined calls.
#
#   O=DIR   where tests/names/symbolize was built (build)
# run.sh: makes thorough
# checks: replay/dwarf cfi =replay/names
. "$(dirname "$0")/../count.sh"
symbolize=$O/tests/names/symbolize
[ "${O#/}" = "$O" ] && symbolize=$PWD/$symbolize
dir=$work

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

[ -x "$symbolize" ] || make -s O="$O" "$O/tests/names/symbolize" >"$dir/log" 2>&1 || {
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
    if python3 tests/names/symbol_differences.py "$symbolize" "$file" "$@" >"$dir/log" 2>&1; then
        pass
        echo "$name: $(head -n 1 "$dir/log")"
        [ "${V-}" ] && sed 1d "$dir/log"
    else
        fail "$name"
    fi
}

addresses() { objdump -d -w "$1" | sed -n 's/^ *\([0-9a-f]*\):\t.*/\1/p'; }

# compare_demangled: each demangled name is among those that nm -C, which also uses libiberty, prints for the
# address (identical functions may have been merged).
compare_demangled() {
    local name=$1 file=$2
    nm -C --defined-only "$file" | sed -n 's/^\([0-9a-f]*\) [tTwW] /\1 /p' | grep -v ' data_start$' | sort >"$dir/names"
    cut -d ' ' -f 1 "$dir/names" | uniq >"$dir/addresses"
    "$symbolize" "$file" <"$dir/addresses" | awk 'BEGIN { RS = ""; FS = "\n" } { print $(NF - 1) }' |
        paste -d ' ' "$dir/addresses" - | sort | comm -23 - "$dir/names" >"$dir/log"
    if [ "$(wc -l <"$dir/addresses")" -gt 50 ] && [ ! -s "$dir/log" ]; then pass; else fail "$name"; fi
}

# build NAME COMMAND...: skips and returns false if it cannot be built here.
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

# Older DWARF versions, and -g1, whose only data are lines and inlined calls.
for compiler in g++ clang++; do
    for options in -gdwarf-2 -gdwarf-3 "-g1 -gdwarf-4" "-g1 -gdwarf-5"; do
        name="$compiler $options"
        # shellcheck disable=SC2086 # words
        build "$name" $compiler -O2 $options $source -o "$dir/a" && compare "$name" "$dir/a" --every 5
    done
done
name="Go"
build "$name" env GOCACHE="$dir/go" go build -o "$dir/go.out" tests/programs/inlines.go && compare "$name" "$dir/go.out" --every 997

name="code at p_vaddr != p_offset (lld)"
build "$name" clang++ -g -O2 -fuse-ld=lld $source -o "$dir/a" && compare "$name" "$dir/a"
name="not position-independent"
build "$name" g++ -g -O2 -no-pie $source -o "$dir/a" && compare "$name" "$dir/a"
name="64-bit DWARF"
build "$name" g++ -g -O2 -gdwarf64 -gdwarf-5 $source -o "$dir/a" && compare "$name" "$dir/a"
name="without .debug_aranges and with .debug_types"
build "$name" g++ -g -O2 -gdwarf-4 -fdebug-types-section $source -o "$dir/a" &&
    objcopy --remove-section=.debug_aranges "$dir/a" && compare "$name" "$dir/a"
name="compressed, zlib-gnu"
build "$name" g++ -g -O2 -gz=zlib-gnu $source -o "$dir/a" && compare "$name" "$dir/a"

# Damage is reported: the first bytes, after its Elf64_Chdr, or the declared size in that. libelf before 0.189 cannot read zstd.
for kind in zlib zstd; do
    name="compressed, $kind"
    build "$name" g++ -g -O2 $source -o "$dir/a" && build "$name" objcopy --compress-debug-sections=$kind "$dir/a" "$dir/packed" || continue
    addresses "$dir/a" >"$dir/addresses"
    "$symbolize" "$dir/a" <"$dir/addresses" >"$dir/whole"
    "$symbolize" "$dir/packed" <"$dir/addresses" >"$dir/compressed" 2>&1
    readelf -t "$dir/packed" | grep -q " ${kind^^}," && diff "$dir/whole" "$dir/compressed" >"$dir/log"
    if [ $? = 0 ]; then pass; else fail "$name"; fi
    for section in info str; do
        offset=$(readelf -SW "$dir/packed" | sed -nE "s/.* \.debug_$section +PROGBITS +[0-9a-f]+ ([0-9a-f]+) .*/\1/p")
        for at in 24 8; do
            cp "$dir/packed" "$dir/damaged"
            printf ruin | dd of="$dir/damaged" bs=1 count=$((at == 24 ? 4 : 1)) seek=$((16#$offset + at)) conv=notrunc 2>"$dir/log"
            "$symbolize" "$dir/damaged" <"$dir/addresses" 2>"$dir/log" >/dev/null
            if grep -q "damaged: section .debug_$section: damaged $kind data" "$dir/log"; then pass; else fail "$name, damaged at $at"; fi
        done
    done
done

# A section may be several streams (of a linker that only puts them together); here at the file's end, where there is room for them.
name="compressed, two zlib streams"
if build "$name" g++ -g -O2 $source -o "$dir/a" && build "$name" objcopy --compress-debug-sections=zlib "$dir/a" "$dir/packed"; then
    addresses "$dir/a" >"$dir/addresses"
    "$symbolize" "$dir/a" <"$dir/addresses" >"$dir/whole"
    python3 - "$dir/packed" <<'end'
import struct, sys, zlib
data = bytearray(open(sys.argv[1], "rb").read())
headers, = struct.unpack_from("<Q", data, 40)
size, count, names = struct.unpack_from("<HHH", data, 58)
fields = lambda index: struct.unpack_from("<IIQQQQ", data, headers + index * size)
name_of = lambda index: bytes(data[fields(names)[4] + fields(index)[0]:]).split(b"\0")[0]
index, = [index for index in range(count) if name_of(index) == b".debug_info"]
_, _, flags, _, offset, length = fields(index)
assert flags & 0x800  # SHF_COMPRESSED
whole = zlib.decompress(data[offset + 24:offset + length])
section = data[offset:offset + 24] + zlib.compress(whole[:1000]) + zlib.compress(whole[1000:])
data += bytes(-len(data) % 8)
struct.pack_into("<QQ", data, headers + index * size + 24, len(data), len(section))
open(sys.argv[1], "wb").write(data + section)
end
    readelf --debug-dump=info "$dir/packed" >"$dir/log" 2>&1 && ! grep -qi warning "$dir/log" &&
        "$symbolize" "$dir/packed" <"$dir/addresses" >"$dir/compressed" 2>&1 && diff "$dir/whole" "$dir/compressed" >"$dir/log"
    if [ $? = 0 ]; then pass; else fail "$name"; fi
fi

name="separate debug file"
if build "$name" g++ -g -O2 $source -o "$dir/a"; then
    objcopy --only-keep-debug "$dir/a" "$dir/a.debug"
    strip -o "$dir/stripped" "$dir/a"
    addresses "$dir/a" >"$dir/addresses"
    "$symbolize" "$dir/a" <"$dir/addresses" >"$dir/whole"
    "$symbolize" --debug "$dir/a.debug" "$dir/stripped" <"$dir/addresses" >"$dir/separate"
    if diff "$dir/whole" "$dir/separate" >"$dir/log"; then pass; else fail "$name"; fi
fi

# Data that dwz moves to a separate file is found through .gnu_debugaltlink.
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

# Split DWARF gives the same results as a build with all data in one file, which has identical code.
mkdir "$dir/parts"
for i in 1 2 3 4 5 6 7; do
    sed "s/@/$i/g" >"$dir/parts/part$i.cc" <<'EOF'
struct Base@ { int x; virtual int more(int a); };
static inline __attribute__((always_inline)) int twice@(int a) { return a * @ + (a >> 3); }
namespace part@ {
struct Type { int x; __attribute__((noinline)) int get(int a) { return twice@(a) + x; } };
int part(int a) { Type type{a}; return type.get(a) + twice@(a + 1); }
}
int Base@::more(int a) { return a > 100 ? twice@(x) + twice@(a) : part@::part(a) + a; }
EOF
    echo "namespace part$i { int part(int); }"
done >"$dir/parts/main.cc"
echo 'int main(int n, char **) { return part1::part(n)+part2::part(n)+part3::part(n)+part4::part(n)+part5::part(n)+part6::part(n)+part7::part(n); }' >>"$dir/parts/main.cc"

# same NAME: the results for `split` equal those for `whole`.
same() {
    (cd "$dir/parts" && "$symbolize" split <../addresses >../split.out 2>../log)
    diff "$dir/whole.out" "$dir/split.out" >>"$dir/log"
    if [ $? = 0 ] && ! grep -q 'gsplit-dwarf' "$dir/log"; then pass; else fail "$1"; fi
}
# split COMPILER OPTION...: builds with -gsplit-dwarf, or with the options in $how
how=-gsplit-dwarf
split() {
    local name="split, $* $how" part
    have "$1" || {
        skip "$name" "$1 is not installed"
        return
    }
    rm -f "$dir"/parts/*.dwo "$dir"/parts/*.dwp "$dir"/parts/*.o
    for part in main part1 part2 part3 part4 part5 part6 part7; do
        (cd "$dir/parts" && "$@" $how -c $part.cc -o $part.o && "$@" -c $part.cc -o $part.whole.o) >"$dir/log" 2>&1 || {
            skip "$name" "$(grep -m 1 -i error "$dir/log")"
            return
        }
    done
    (cd "$dir/parts" && "$1" part?.o main.o -o split && "$1" part?.whole.o main.whole.o -o whole && rm -f ./*.whole.o)
    # Only addresses of instructions, as the padding of .text differs.
    addresses "$dir/parts/whole" >"$dir/addresses"
    "$symbolize" "$dir/parts/whole" <"$dir/addresses" >"$dir/whole.out"
    same "$name"
}
# package PROGRAM NAME: the same with a package. Debian 12's tools do not finish on some DWARF 5 files.
package() {
    (cd "$dir/parts" && timeout 10 "$1" -e split -o split.dwp) >"$dir/log" 2>&1 || {
        skip "$2, packed by $1" "it cannot pack these"
        rm -f "$dir/parts/split.dwp"
        return
    }
    mkdir "$dir/parts/away" && mv "$dir"/parts/*.dwo "$dir"/parts/*.o "$dir/parts/away"
    same "$2, packed by $1"
    mv "$dir"/parts/away/* "$dir/parts" && rmdir "$dir/parts/away"
    cp "$dir/parts/split.dwp" "$dir/$1.dwp"
    rm -f "$dir/parts/split.dwp"
}
for dwarf in 4 5; do
    for compiler in g++ clang++; do
        for options in "" "-fdebug-types-section" "-gz" "-gdwarf64" "-ffunction-sections"; do
            [ "$compiler$options$dwarf" = clang++-gdwarf644 ] && continue
            # shellcheck disable=SC2086 # words
            split $compiler -g -O2 -gdwarf-$dwarf $options
        done
        split $compiler -g -O2 -gdwarf-$dwarf
        have dwp && [ $dwarf = 4 ] && package dwp "$compiler -gdwarf-$dwarf"
        have llvm-dwp && [ $compiler$dwarf != g++5 ] && package llvm-dwp "$compiler -gdwarf-$dwarf"
        name="$compiler -gsplit-dwarf -gdwarf-$dwarf"
        build "$name" env -C "$dir" $compiler -g -O2 -gdwarf-$dwarf -gsplit-dwarf "$PWD/$source" -o "$dir/a" && compare "$name" "$dir/a"
    done
    how=-gsplit-dwarf=single
    split clang++ -g -O2 -gdwarf-$dwarf
    how=-gsplit-dwarf
done
name="g++ -gsplit-dwarf -gdwarf-5, packed by llvm-dwp"
if have llvm-dwp && build "$name" g++ -g -O2 -gdwarf-5 $source -o "$dir/parts/whole" &&
    (cd "$dir/parts" && build "$name" g++ -g -O2 -gdwarf-5 -gsplit-dwarf "$OLDPWD/$source" -o split); then
    addresses "$dir/parts/whole" >"$dir/addresses"
    "$symbolize" "$dir/parts/whole" <"$dir/addresses" >"$dir/whole.out"
    package llvm-dwp "g++ -gsplit-dwarf -gdwarf-5"
fi

# Missing parts, parts of a different build and damaged parts are reported; lines and symbols remain.
name="split DWARF without its .dwo"
split g++ -g -O2 -gdwarf-5
for lack in missing other cut; do
    rm -f "$dir/parts/part3.dwo"
    case $lack in
    missing) expected='is in part3.dwo \(-gsplit-dwarf\), which was not found \(.*/part3.dwo: No such file' ;;
    other)
        (cd "$dir/parts" && sed 's/>> 3/>> 4/' part3.cc >other.cc && g++ -g -O2 -gdwarf-5 -gsplit-dwarf -c other.cc -o part3.o && mv other.dwo part3.dwo 2>>"$dir/log")
        expected='part3.dwo is from a different build' ;;
    cut)
        head -c 600 "$dir/parts/part2.dwo" >"$dir/parts/part3.dwo"
        expected='part3.dwo: .*copy it again' ;;
    esac
    (cd "$dir/parts" && "$symbolize" split <../addresses >../split.out 2>../log)
    grep -qE "$expected" "$dir/log" && grep -q '^part3::part' "$dir/split.out" && grep -q "part3.cc:[1-9]" "$dir/split.out" &&
        ! grep -q '^twice3' "$dir/split.out" && grep -q '^twice2' "$dir/split.out"
    if [ $? = 0 ]; then pass; else fail "$name: $lack"; fi
done
for dwarf in 4 5; do
    name="split DWARF $dwarf without any .dwo"
    build "$name" g++ -g -O2 -gdwarf-$dwarf -gsplit-dwarf $source -o "$dir/split" && {
        rm -f "$dir"/*.dwo
        compare "$name" "$dir/split"
    }
done

for cpu in aarch64 s390x riscv64; do
    for level in 0 2; do
        name="$cpu -O$level"
        build "$name" $cpu-linux-gnu-gcc -g -O$level -nostdlib -static tests/programs/inlines.c -o "$dir/a" &&
            compare "$name" "$dir/a" --addr2line $cpu-linux-gnu-addr2line --objdump $cpu-linux-gnu-objdump
    done
done

# rustc's split DWARF: .dwo files next to the program, or its own package.
for kind in unpacked packed; do
    name="rustc, split-debuginfo=$kind"
    mkdir -p "$dir/rust.$kind"
    build "$name" env RUSTC_BOOTSTRAP=1 rustc -Z unstable-options -g -C opt-level=2 -C split-debuginfo=$kind \
        tests/programs/inlines.rs -o "$dir/rust.$kind/a" && {
        compare "$name" "$dir/rust.$kind/a" --every 37
        addresses "$dir/rust.$kind/a" | awk 'NR % 37 == 0' | "$symbolize" "$dir/rust.$kind/a" 2>&1 | grep -q '^inlines::'
        if [ $? = 0 ]; then pass; else fail "$name: none of its functions"; fi
    }
done

for mangling in legacy v0; do
    for level in 0 2 3; do
        name="rustc -O$level, $mangling names"
        # The option for legacy names is unstable.
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
