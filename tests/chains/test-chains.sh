#!/bin/bash
# Programs with known call chains: records testdata/programs/chains in every mode, built by several compilers, and checks that each sample
# has exactly the expected chain. Needs root and BPF. SECONDS_OF_CPU=N: how long each mode runs (0.6).
# run.sh: records thorough shares
# checks: replay/unwind bpf
. "$(dirname "$0")/../count.sh"

seconds=${SECONDS_OF_CPU:-0.6}
debug=() cpu=() # options of replay and of check.py

# run DIR MODE [COMMAND...]: records the mode, optionally started by COMMAND.
run() {
    local dir=$1 mode=$2
    shift 2
    SECONDS_OF_CPU=$seconds tests/chains/record.sh "$recorder" "$work/$dir" "$mode" "$work/run" "$@"
}

# check DIR MODE [OPTION...]: replays the last recording with these options.
check() {
    local dir=$1 mode=$2
    shift 2
    "$stackreel" script "${debug[@]}" "$@" "$work/run.reel" 2>>"$work/run.log" |
        tests/chains/check.py "${cpu[@]}" "$mode" --printed "$(cat "$work/run.printed")" --count 6 >"$work/out" 2>&1
    local status=$?
    sed "s/^[a-z]/$dir: &/" "$work/out"
    return $status
}

# twice COMMAND...: retries once. Libraries and thread start-up have code paths that the expected chains do not cover, and one sample in
# thousands may hit one. The first mismatch is printed; it is a failure if a second recording has one as well. A bug in the unwinder shows
# up every time.
twice() {
    "$@" && return
    echo "again: $*"
    "$@"
}

recorded_and_right() { run "$@" && check "$1" "$2"; }

# modes DIR MODE...
modes() {
    local dir=$1 mode
    shift
    for mode; do
        twice recorded_and_right "$dir" "$mode"
        count $? "$dir: $mode: $(tail -n 1 "$work/run.log")"
        if [ "$mode" = bare-framed ]; then
            check "$dir" bare-framed-stop --no-frame-pointers
            count $? "$dir: bare-framed-stop"
        fi
    done
}

# build DIR CC CXX OPTION...: fails if the build does, or if this run does not do it
number=0
build() {
    in_share $((number++)) || return
    local dir=$1 cc=$2 cxx=$3
    shift 3
    if ! command -v "${cxx%% *}" >/dev/null; then
        skip "$cxx is not installed"
        return 1
    fi
    if ! tests/chains/build.sh "$work/$dir" "$cc" "$cxx" "$@" >"$work/err" 2>&1; then
        head -n 20 "$work/err"
        count 1 "$dir: build"
        return 1
    fi
}

if [ ! -x "$recorder" ] || [ ! -x "$stackreel" ]; then
    skip "stackreel-record and stackreel are not both built"
    finish
fi
if ! "$recorder" -q -o "$work/reel" -- true 2>"$work/err"; then
    skip "recording: $(tail -n 1 "$work/err")"
    finish
fi
# The expected chains consist of functions: internal functions of ld.so and libc have names only with debug information.
# shellcheck disable=SC2016
"$recorder" -q -F max -o "$work/reel" -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do "$0"; done' "$(command -v true)" 2>"$work/err"
if ! "$stackreel" script "$work/reel" 2>>"$work/err" | grep -q ' _dl_relocate_object+'; then
    skip "ld.so and libc have no debug information (libc6-dbg)"
    finish
fi

if build gcc "${CC:-gcc}" "${CXX:-g++}" -O2 -fomit-frame-pointer; then
    # The test is only meaningful if gcc uses CFA expressions for realigned frames (DRAP).
    if [ "$(uname -m)" = x86_64 ]; then
        readelf --debug-dump=frames "$work/gcc/chains" 2>/dev/null | grep -q 'DW_CFA_def_cfa_expression (DW_OP_breg6 (rbp): -[0-9]*; DW_OP_deref)'
        count $? "gcc: realigned frames have CFA expressions"
    fi
    # shellcheck disable=SC2046
    modes gcc $("$work/gcc/chains") cut
fi
if [ -e "$work/gcc/libaudit.so" ]; then
    # ld.so has three ways to save vector registers. With LD_AUDIT it calls the functions itself.
    for features in -XSAVEC -XSAVEC,-XSAVE; do
        run gcc lazy env "GLIBC_TUNABLES=glibc.cpu.hwcaps=$features" && check gcc lazy --comm chains
        count $? "gcc: lazy, with $features"
        wanted=_dl_runtime_resolve_$([ $features = -XSAVEC ] || echo f)xsave
        "$stackreel" folded "$work/run.reel" 2>/dev/null | grep -q "$wanted;"
        count $? "gcc: $wanted"
    done
    run gcc lazy env LD_AUDIT="$work/gcc/libaudit.so" && check gcc audit --comm chains
    count $? "gcc: audit"
fi
subset=(tiny realign inline alternate jump noreturn exception)
build clang clang clang++ -O2 -fomit-frame-pointer && modes clang "${subset[@]}" coroutine lazy
build gcc-O0 gcc g++ -O0 && modes gcc-O0 "${subset[@]}"
build gcc-O3 gcc g++ -O3 -fomit-frame-pointer && modes gcc-O3 "${subset[@]}"
if command -v ld.lld >/dev/null; then
    build lld clang clang++ -O2 -fomit-frame-pointer -fuse-ld=lld && modes lld plt lazy reload
else
    skip "lld is not installed"
fi
build static gcc g++ -O2 -fomit-frame-pointer -static && modes static tiny alternate exception vdso threads
# musl has no C++ library, so no exceptions, and no unwind tables or debug information.
if command -v musl-gcc >/dev/null; then
    musl=("musl-gcc" "musl-gcc -nostdinc++ -fno-exceptions -fno-rtti")
    cpu=(--libc musl)
    build musl-static "${musl[@]}" -O2 -fomit-frame-pointer -static && modes musl-static leaf realign nested threads jump noreturn vdso
    build musl "${musl[@]}" -O2 -fomit-frame-pointer && modes musl leaf realign nested threads jump noreturn vdso
    cpu=()
else
    skip "musl-gcc is not installed"
fi

# 32-bit programs on this 64-bit kernel, with a C library that has debug information.
i386() {
    local sysroot gcc=(i686-linux-gnu-gcc i686-linux-gnu-g++) clang=("clang --target=i686-linux-gnu" "clang++ --target=i686-linux-gnu")
    command -v "${gcc[1]}" >/dev/null || { skip "${gcc[1]} is not installed" && return; }
    sysroot=$(tests/vm/sysroot.sh bookworm i386 libc6-dbg libstdc++6 libgcc-s1 2>"$work/err") ||
        { skip "i386: $(tail -n 1 "$work/err")" && return; }
    "$sysroot/lib/ld-linux.so.2" --version >"$work/out" 2>"$work/err" || { skip "i386: $(tail -n 1 "$work/err")" && return; }
    debug=(--debug-dir "$sysroot/usr/lib/debug") cpu=(--cpu i386)
    local dynamic=("-Wl,--dynamic-linker=$sysroot/lib/ld-linux.so.2"
        "-Wl,-rpath,$sysroot/lib/i386-linux-gnu,-rpath,$sysroot/usr/lib/i386-linux-gnu")
    # shellcheck disable=SC2046
    build i386 "${gcc[@]}" -O2 -fomit-frame-pointer "${dynamic[@]}" && modes i386 $("$work/i386/chains") cut
    build i386-O0 "${gcc[@]}" -O0 "${dynamic[@]}" && modes i386-O0 tiny realign alternate
    build i386-no-pie "${gcc[@]}" -Os -fomit-frame-pointer -no-pie -fno-pie "${dynamic[@]}" && modes i386-no-pie tiny alternate
    build i386-static "${gcc[@]}" -O2 -fomit-frame-pointer -static && modes i386-static tiny alternate exception vdso
    if command -v clang >/dev/null; then
        build i386-clang "${clang[@]}" -O2 -fomit-frame-pointer "${dynamic[@]}" && modes i386-clang tiny realign lazy
    fi
}
[ "$(uname -m)" != x86_64 ] || i386
finish
