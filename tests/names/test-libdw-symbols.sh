#!/bin/bash
# Compares functions, inlined calls and lines with libdw's results (tests/names/libdw_symbols.c), for all forms of debug information:
# compilers, DWARF 2 to 5 in 32 and 64 bits, both byte orders, link-time optimisation, type units, compressed sections, dwz, and separate
# debug files. Also for this host's programs and libraries with debug information.
#   O=DIR   where tests/names/libdw_symbols was built (build)
# run.sh: makes thorough
# checks: replay/dwarf
. "$(dirname "$0")/../count.sh"
compare=$O/tests/names/libdw_symbols
dir=$work

# same NAME OPTION|FILE...: each of at least 20 addresses has the same result as with libdw
same() {
    local name=$1 n
    shift
    n=$("$compare" "$@" 2>&1 >"$dir/log" && sed -n 's/^\([0-9]*\) addresses.*, 0 differ$/\1/p' "$dir/log")
    if [ "${n:-0}" -ge 20 ] 2>/dev/null; then
        passed=$((passed + 1))
        echo "$name: $(tail -n 1 "$dir/log")"
    else
        failed=$((failed + 1))
        echo "FAILED: $name: $n"
        sed 's/^/    /' "$dir/log"
    fi
}

# build NAME COMMAND...: skips and returns false if it cannot be built here
build() {
    local name=$1
    shift
    command -v "$1" >/dev/null || {
        skip "$name: $1 is not installed"
        return 1
    }
    "$@" >"$dir/build" 2>&1 || {
        skip "$name: $(grep -m 1 -i error "$dir/build")"
        return 1
    }
}

# built NAME COMMAND...
built() { build "$@" -o "$dir/a" && same "$1" "$dir/a"; }

[ -x "$compare" ] || make -s O="$O" "$compare" || {
    failed=1
    finish
}
source=tests/programs/inlines.cc
for compiler in g++ clang++; do
    lto=-flto
    [ $compiler = clang++ ] && lto="-flto -fuse-ld=lld"
    for dwarf in 4 5; do
        for level in 0 1 2 3; do
            built "$compiler -O$level -gdwarf-$dwarf" $compiler -g -O$level -gdwarf-$dwarf $source
        done
        # shellcheck disable=SC2086 # two options
        built "$compiler -flto -gdwarf-$dwarf" $compiler -g -O2 $lto -gdwarf-$dwarf $source
        built "$compiler -fdebug-types-section -gdwarf-$dwarf" \
            $compiler -g -O2 -fdebug-types-section -gdwarf-$dwarf $source
        built "$compiler -gsplit-dwarf -gdwarf-$dwarf" \
            env -C "$dir" $compiler -g -O2 -gsplit-dwarf -gdwarf-$dwarf "$PWD/$source"
    done
    for dwarf in 2 3; do
        built "$compiler -gdwarf-$dwarf" $compiler -g -O2 -gdwarf-$dwarf $source
    done
    built "$compiler -ffunction-sections, collected" \
        $compiler -g -O2 -ffunction-sections -Wl,--gc-sections $source
    built "$compiler, 64-bit DWARF 5" $compiler -g -O2 -gdwarf64 -gdwarf-5 $source
    built "$compiler, compressed" $compiler -g -O2 -gz=zlib $source
done
built "lld" clang++ -g -O2 -fuse-ld=lld $source
built "gcc, functions in functions" gcc -g -O0 tests/programs/nested.c
built "gcc -O2, functions in functions" gcc -g -O2 tests/programs/nested.c
for level in 0 2 3; do
    name="rustc -O$level"
    build "$name" rustc -g -C opt-level=$level tests/programs/inlines.rs -o "$dir/a" &&
        same "$name" --every 37 "$dir/a"
done
for cpu in aarch64 s390x riscv64 arm; do
    compiler=$cpu-linux-gnu-gcc
    [ $cpu = arm ] && compiler=arm-linux-gnueabihf-gcc
    for level in 0 2; do
        built "$cpu -O$level" $compiler -g -O$level -nostdlib -static tests/programs/inlines.c
    done
done

name="separate debug file"
if build "$name" g++ -g -O2 $source -o "$dir/a"; then
    objcopy --only-keep-debug "$dir/a" "$dir/a.debug"
    strip -o "$dir/stripped" "$dir/a"
    same "$name" "$dir/stripped" "$dir/a.debug"
fi
name="dwz"
if ! command -v dwz >/dev/null; then
    skip "$name is not installed"
elif build "$name" g++ -g -O2 $source -o "$dir/a" && build "$name" g++ -g -O1 $source -o "$dir/b"; then
    if (cd "$dir" && dwz -m common.dwz a b) >"$dir/log" 2>&1; then
        same "$name" --alternate "$dir/common.dwz" "$dir/a"
    else
        failed=$((failed + 1))
        echo "FAILED: $name: $(tail -n 1 "$dir/log")"
    fi
fi

# Installed files: our own, and libc with its debug file.
[ -x "$O/stackreel" ] && readelf -SW "$O/stackreel" | grep -q '\.debug_info' && same stackreel --every 7 "$O/stackreel"
libc=$(ldconfig -p | sed -n 's/.*[[:space:]]libc\.so\.6 (.*x86-64.*) => //p' | head -n 1)
id=$(readelf -n "${libc:-/nowhere}" 2>/dev/null | sed -n 's/.*Build ID: //p')
debug=/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
if [ -n "$id" ] && [ -e "$debug" ]; then
    same libc --every 61 "$libc" "$debug"
else
    skip "libc has no debug file"
fi
finish
