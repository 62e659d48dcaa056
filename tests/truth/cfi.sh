#!/bin/bash
# cfi.sh [--quick] - compare every row of call frame information with libdw's
#
# tests/unwind/cfi_rows compares them: each row of each FDE that libdw enumerates (CFA, return address column, the rule of each
# register, expressions with their operands), each of our rows with libdw's, and the bytes of code that have a row.  Each file is
# a case.  --quick (tests/unwind/test-cfi-rows.sh) uses this host's libraries, the cross compilers' libraries, and the output of this host's
# compilers with .debug_frame.  Without it, also libraries and programs of four architectures from Debian, Go's
# toolchain, and this library built by several compilers and linkers.
#
# An expression that computes with data that scrubbing removes (SPEC.md, 8.1) is a difference as well (tests/unwind/cfi_reads.h). Searches
# all installed programs and libraries for these, as one case.
#
# Prints one line per file, the totals, and the known differences with their counts.
#   O=DIR           where tests/unwind/cfi_rows was built (build)
#   CFI_FILES="a b" more files
. "$(dirname "$0")/../count.sh"
program=$O/tests/unwind/cfi_rows
dir=$work
export LC_ALL=C

if [ ! -x "$program" ]; then
    skip "$program is not built"
    finish
fi

# producer FILE: the compilers, according to the file itself: .comment (which Debian strips), Rust's paths, Go's version.
producer() {
    local said
    said=$(readelf -p .comment "$1" 2>/dev/null | sed -nE '
        s/.*(GCC): \([^)]*\) ([0-9]+\.[0-9]+).*/gcc \2/p
        s/.*clang version ([0-9]+\.[0-9]+).*/clang \1/p
        s/.*rustc version ([0-9]+\.[0-9]+).*/rustc \1/p
        s/.*Linker:.* LLD ([0-9]+\.[0-9]+).*/lld \1/p
        s/.*mold ([0-9]+\.[0-9]+).*/mold \1/p' | sort -u | paste -sd , -)
    [ -n "$said" ] || said=$(grep -aoEm 1 'rustc-1\.[0-9]+|go1\.[0-9]+' "$1" | head -n 1 | sed 's/rustc-/rustc /; s/^go/go /')
    echo "${said:--}"
}

# check FILE NAME [PRODUCER]: a missing file is skipped.
check() {
    local name=${2:-$1} maker=${3-} arch status=0
    if [ ! -e "$1" ]; then
        skip "no $name"
        return
    fi
    [ -n "$maker" ] || maker=$(producer "$1")
    arch=$(readelf -h "$1" | sed -nE 's/^ *Machine: *//p' | sed -E 's/.*X86-64.*/x86_64/; s/AArch64/aarch64/; s/RISC-V/riscv64/; s/.*S.390.*/s390x/; s/.*80386.*/i386/')
    nice "$program" "$1" >"$dir/log" 2>&1 || status=$?
    sed -n 's/^  \(exempt\|passed over\|registers\|compared with\|expressions\)/\1/p' "$dir/log" >>"$dir/sums"
    awk -v name="$name" -v arch="$arch" -v maker="$maker" '
        / FDEs, [0-9]+ rows, [0-9]+ differences$/ { fdes = $(NF-5); rows = $(NF-3); differences = $(NF-1) }
        /^  exempt: / { exempt += $NF }
        END { printf "%-44s %-8s %-24s %7d FDEs %8d rows %d differences %8d exempt\n", name, arch, maker, fdes, rows, differences, exempt }
    ' "$dir/log" | tee -a "$dir/table"
    if [ $status = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $name"
        sed 's/^/    /' "$dir/log"
    fi
}

# compiled COMPILER NAME OPTION...: checks code.c below, in the forms that compilers produce.
compiled() {
    local cc=$1 name=$2
    shift 2
    if ! command -v "$cc" >/dev/null ||
        ! "$cc" -g -O2 "$@" -shared -fPIC -nostdlib -o "$dir/$name" "$dir/code.c" 2>/dev/null; then
        skip "$cc $* cannot build it"
        return 1
    fi
    check "$dir/$name" "$name" "$cc"
}

# passes_over NAME WHAT: cfi_rows counted WHAT in the last file
passes_over() {
    if grep -q "passed over: $2" "$dir/log"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $1 has no $2"
    fi
}

host() {
    local lib name file triple cc
    cat >"$dir/code.c" <<'END'
#ifdef EMPTY
/* Their end cannot be reached: FDEs of no bytes, at the addresses of what follows. */
void empty_one(void) { __builtin_unreachable(); }
#endif
extern int other(int *, int);
__attribute__((noinline)) int leaf(int a) { return a * 3 + 1; }
int frame(int a, int b)
{
	int array[64];
	for (int i = 0; i < 64; i++)
		array[i] = leaf(a + i) + other(array, b);
	return a > b ? array[a & 63] : frame(b, array[b & 63]) + other(array, a);
}
#ifdef EMPTY
void empty_two(void) { __builtin_unreachable(); }
#endif
int variable(int n)
{
	int array[n];
	return other(array, n) + array[n - 1] + frame(n, array[0]);
}
END
    lib=/lib/$(gcc -print-multiarch 2>/dev/null || echo x86_64-linux-gnu)
    for name in libc.so.6 libstdc++.so.6 libgcc_s.so.1 libcrypto.so.3; do
        file=$lib/$name
        [ -e "$file" ] || file=/usr$file
        check "$file" "$name"
    done
    for file in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do
        [ ! -e "$file" ] || check "$file" "${file##*/}"
    done
    check /usr/bin/python3 python3
    for triple in aarch64-linux-gnu riscv64-linux-gnu s390x-linux-gnu i686-linux-gnu; do
        [ "/lib/$triple" = "$lib" ] || check "/usr/$triple/lib/libc.so.6" "libc.so.6 of $triple"
        [ "/lib/$triple" = "$lib" ] || check "/usr/$triple/lib/libgcc_s.so.1" "libgcc_s.so.1 of $triple"
    done
    # Without .eh_frame compilers write .debug_frame.
    local debug_frame=(-fno-asynchronous-unwind-tables -fno-unwind-tables)
    compiled gcc "DWARF 4" "${debug_frame[@]}" -gdwarf-4
    compiled gcc "DWARF 5" "${debug_frame[@]}" -gdwarf-5
    compiled gcc "64-bit DWARF" "${debug_frame[@]}" -gdwarf-5 -gdwarf64
    compiled gcc "compressed" "${debug_frame[@]}" -gz=zlib
    compiled clang "clang's .debug_frame" "${debug_frame[@]}" -gdwarf-5
    for cc in aarch64-linux-gnu-gcc riscv64-linux-gnu-gcc s390x-linux-gnu-gcc i686-linux-gnu-gcc; do
        compiled $cc ".debug_frame of ${cc%%-*}" "${debug_frame[@]}" -gdwarf-4
        compiled $cc "-O0 for ${cc%%-*}" -O0
        compiled $cc "frame pointers for ${cc%%-*}" -fno-omit-frame-pointer
    done
    compiled aarch64-linux-gnu-gcc "signed leaves" -mbranch-protection=pac-ret+leaf
    compiled aarch64-linux-gnu-gcc "signed by key B" -mbranch-protection=pac-ret+b-key
    compiled aarch64-linux-gnu-gcc "signed, .debug_frame" "${debug_frame[@]}" -mbranch-protection=pac-ret
    # GNU ld removes these.
    compiled gcc "empty functions" -DEMPTY -fuse-ld=lld && passes_over "empty functions" "FDEs of no bytes"
    # Functions removed by the linker leave their FDEs in .debug_frame, at address 0.
    compiled gcc "removed functions" "${debug_frame[@]}" -fvisibility=hidden -ffunction-sections -Wl,--gc-sections,-u,leaf &&
        passes_over "removed functions" "FDEs outside of the text"
    if command -v rustc >/dev/null && rustc -O -o "$dir/rust" tests/programs/inlines.rs 2>/dev/null; then
        check "$dir/rust" "a Rust program"
    else
        skip "rustc cannot build tests/programs/inlines.rs"
    fi
    for file in ${CFI_FILES-}; do
        check "$file"
    done
    made_expressions
    installed
}

# installed: checks the CFI expressions of every installed program and library. Wine's changes of stacks find the CFA by a register that
# callees need not keep.
installed() {
    local status
    find /usr/lib /usr/libexec /usr/bin /usr/sbin -xdev -type f -not -path '*/wine/*' \( -path '*/bin/*' -o -path '*/sbin/*' -o -name '*.so*' \) -print0 2>/dev/null |
        nice xargs -0 -n 200 "$program" -x >"$dir/log" 2>&1
    status=$?
    awk '/^  rows of ours/ { rows += $NF } / differences$/ { files++; differences += $(NF - 1) } /^  expressions/ { expressions += $NF }
        END { printf "expressions here: %d files, %d rows, %d rules by expression, %d differences\n", files, rows, expressions, differences }' "$dir/log"
    if [ $status = 0 ] && grep -q '^  expressions that read addresses' "$dir/log"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL expressions here"
        grep -B 3 '^  0x\|^cfi_rows' "$dir/log" | sed 's/^/    /' | head -n 40
    fi
}

# finds_expression WHAT BYTES: checks that a CFA with these operations is reported as reading WHAT.
finds_expression() {
    printf 'f: .cfi_startproc\n.cfi_escape 0x0f,%s\nnop\n.cfi_endproc\n' "$2" >"$dir/code.s"
    "${CC:-cc}" -shared -nostdlib -o "$dir/code.so" "$dir/code.s" 2>"$dir/log" && "$program" -x "$dir/code.so" >"$dir/log" 2>&1
    if grep -q "expressions that read $1: 1$" "$dir/log"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL finds an expression that reads $1"
        sed 's/^/    /' "$dir/log"
    fi
}

made_expressions() {
    [ "$(uname -m)" = x86_64 ] || return 0
    # bn_mul_mont's: breg7 8, breg9 0, lit8, mul, plus, deref, plus_uconst 8; with a different scale; with rcx; with a word for r9.
    finds_expression "a count of arch/" 10,0x77,8,0x79,0,0x38,0x1e,0x22,0x06,0x23,8
    finds_expression "a register that is scrubbed" 10,0x77,8,0x79,0,0x34,0x1e,0x22,0x06,0x23,8
    finds_expression "a register that is scrubbed" 10,0x77,8,0x72,0,0x38,0x1e,0x22,0x06,0x23,8
    finds_expression "a word as a number" 11,0x77,8,0x77,0,0x06,0x38,0x1e,0x22,0x06,0x23,8
    finds_expression "addresses" 5,0x77,24,0x06,0x23,8
}

# package SUITE ARCH PACKAGE PRODUCER FILE...: files of a Debian package; the folder may be a pattern.
# PRODUCER describes stripped files; - for files that contain it.
package() {
    local suite=$1 arch=$2 package=$3 maker=$4 folder pattern file found
    shift 4
    if ! folder=$(tests/truth/package.sh "$suite" "$arch" "$package" 2>"$dir/fetch"); then
        skip "$package of $suite for $arch: $(tail -n 1 "$dir/fetch")"
        return
    fi
    for pattern; do
        found=
        for file in "$folder"$pattern; do
            if [ ! -f "$file" ] || [ -L "$file" ]; then continue; fi
            found=yes
            check "$file" "${file##*/} ($suite)" "${maker#-}"
        done
        if [ -z "$found" ]; then
            failed=$((failed + 1))
            echo "FAIL $package of $suite for $arch has no $pattern"
        fi
    done
}

debian() {
    local suite arch openssl python lib
    while read -r suite arch openssl python; do
        lib='/usr/lib/*-linux-gnu'
        package "$suite" "$arch" libc6 gcc "$lib/libc.so.6" "$lib/ld[-6]*.so.*" "$lib/libm.so.6"
        package "$suite" "$arch" libstdc++6 gcc "$lib/libstdc++.so.6.*"
        package "$suite" "$arch" libgcc-s1 gcc "$lib/libgcc_s.so.1"
        package "$suite" "$arch" "$openssl" gcc "$lib/libcrypto.so.3"
        package "$suite" "$arch" "$python-minimal" gcc "/usr/bin/$python"
        package "$suite" "$arch" "lib$python" gcc "$lib/lib$python.so.1.0"
        package "$suite" "$arch" ripgrep - /usr/bin/rg
        package "$suite" "$arch" fd-find - /usr/lib/cargo/bin/fd
        package "$suite" "$arch" librsvg2-2 - "$lib/librsvg-2.so.*"
        package "$suite" "$arch" runc "go, gcc" /usr/sbin/runc
        package "$suite" "$arch" musl gcc '/usr/lib/*-linux-musl/libc.so'
    done <<END
bookworm amd64 libssl3 python3.11
bookworm arm64 libssl3 python3.11
bookworm s390x libssl3 python3.11
bookworm i386 libssl3 python3.11
trixie amd64 libssl3t64 python3.13
trixie arm64 libssl3t64 python3.13
trixie s390x libssl3t64 python3.13
trixie riscv64 libssl3t64 python3.13
END
}

# Large and unusual files.
more() {
    local llvm=/usr/lib/llvm-14/lib arch
    # SVE: a CFA that depends on the vector length; signed return addresses.
    package trixie arm64 libc6 gcc '/usr/lib/*-linux-gnu/libmvec.so.1'
    # LLVM's runtime libraries are built with the clang of the same version.
    for arch in amd64 arm64; do
        package bookworm "$arch" libc++1-14 "clang 14.0" "$llvm/libc++.so.1.0"
        package bookworm "$arch" libc++abi1-14 "clang 14.0" "$llvm/libc++abi.so.1.0"
        package bookworm "$arch" libunwind-14 "clang 14.0" "$llvm/libunwind.so.1.0"
    done
    package trixie riscv64 libc++1-19 "clang 19.1" '/usr/lib/llvm-19/lib/libc++.so.1.0'
    for arch in amd64 arm64; do
        package bookworm "$arch" libclang-rt-14-dev "clang 14.0" "$llvm/clang/14.0.6/lib/linux/libclang_rt.asan-*64.so"
        package bookworm "$arch" libllvm14 gcc '/usr/lib/*-linux-gnu/libLLVM-14.so.1'
        package bookworm "$arch" libstd-rust-1.63 - '/usr/lib/*-linux-gnu/librustc_driver-*.so'
    done
    # CFI with expressions: hand-written assembly, separate stacks, vector code.
    package bookworm amd64 libgnutls30 gcc '/usr/lib/*-linux-gnu/libgnutls.so.30.*'
    package bookworm amd64 libgcrypt20 gcc '/usr/lib/*-linux-gnu/libgcrypt.so.20.*'
    package bookworm arm64 libgcrypt20 gcc '/usr/lib/*-linux-gnu/libgcrypt.so.20.*'
    package bookworm amd64 libnode108 gcc '/usr/lib/*-linux-gnu/libnode.so.108'
    package bookworm amd64 libgfortran5 gcc '/usr/lib/*-linux-gnu/libgfortran.so.5.*'
    package bookworm amd64 busybox-static gcc /bin/busybox
    package bookworm amd64 containerd "go, gcc" /usr/bin/containerd
    package bookworm amd64 mold gcc /usr/bin/mold
    package bookworm amd64 chromium "clang, rustc, lld" /usr/lib/chromium/chromium
}

# Go's own linker writes only a compressed .debug_frame; DWARF 4 before Go 1.25, then DWARF 5.  Runs Go's tools here.
go_programs() {
    local suite=$1 version=$2 folder go arch name
    [ "$(uname -m)" = x86_64 ] || {
        skip "Go's toolchain needs x86_64"
        return
    }
    if ! folder=$(tests/truth/package.sh "$suite" amd64 "golang-$version-go" "golang-$version-src" 2>"$dir/fetch"); then
        skip "golang-$version-go of $suite: $(tail -n 1 "$dir/fetch")"
        return
    fi
    go=$folder/usr/lib/go-$version
    for arch in amd64 arm64 riscv64 s390x; do
        name=go-$version-$arch
        if GOROOT=$go GOARCH=$arch CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=-mod=mod GOCACHE=$STACKREEL_CACHE/go-build \
            GOPATH=$dir/go nice "$go/bin/go" build -p 2 -o "$dir/$name" "$go/src/cmd/gofmt" >"$dir/fetch" 2>&1; then
            check "$dir/$name" "gofmt for $arch" "go $version"
            rm -f "$dir/$name"
        else
            skip "Go $version cannot build gofmt for $arch: $(tail -n 1 "$dir/fetch")"
        fi
    done
}

# library NAME COMMAND...: checks this library, built by compilers and linkers of this host.
library() {
    local name=$1
    shift
    if ! command -v "$1" >/dev/null; then
        skip "$name: no $1"
    elif nice "$@" -std=gnu11 -g1 -I. -shared -fPIC -D_FILE_OFFSET_BITS=64 -o "$dir/library.so" {format,space,arch,replay}/*.c \
        2>"$dir/fetch"; then
        check "$dir/library.so" "libstackreel, $name"
    else
        skip "$name: $(tail -n 1 "$dir/fetch")"
    fi
}

libraries() {
    local mold level
    for level in 0 1 2 3 s; do
        library "gcc -O$level" gcc -O$level
        library "clang -O$level" clang -O$level
    done
    library "gcc -O2 -flto" gcc -O2 -flto
    library "clang -O2 -flto, lld" clang -O2 -flto -fuse-ld=lld
    library "clang -O2, lld --gc-sections --icf" clang -O2 -ffunction-sections -fuse-ld=lld -Wl,--gc-sections,--icf=all
    library "gcc -O2 with frame pointers" gcc -O2 -fno-omit-frame-pointer
    library "gcc -O2, .eh_frame and .debug_frame" gcc -O2 -fno-asynchronous-unwind-tables
    # mold needs libraries that may not be installed.
    if mold=$(tests/vm/sysroot.sh bookworm "$(uname -m)" mold 2>"$dir/fetch"); then
        mkdir -p "$dir/mold"
        printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s/usr/bin/mold "$@"\n' "$(echo "$mold"/usr/lib/*-linux-gnu)" "$mold" >"$dir/mold/ld"
        chmod +x "$dir/mold/ld"
        library "gcc -O2, mold" gcc -O2 -ffunction-sections -Wl,--gc-sections -B"$dir/mold"
        library "clang -O2, mold --icf" clang -O2 -ffunction-sections -Wl,--gc-sections,--icf=all -B"$dir/mold"
    else
        skip "mold: $(tail -n 1 "$dir/fetch")"
    fi
}

# Totals of the other counts that cfi_rows prints.
sums() {
    awk '{ count = $NF; sub(/: [0-9]+( instructions)?$/, ""); sum[$0] += count }
        END { for (what in sum) printf "%14d %s\n", sum[what], what }' \
        <(sed 's/ instructions$//' "$dir/sums") | sort -k 2
    awk '{ for (i = 2; i <= NF; i++) {
            if ($i == "FDEs") fdes += $(i - 1)
            if ($i == "rows") rows += $(i - 1)
            if ($i == "differences") differences += $(i - 1) } }
        END { printf "%d files, %d FDEs, %d rows, %d differences\n", NR, fdes, rows, differences }' "$dir/table"
}

case ${1-} in
--quick) host ;;
'')
    export STACKREEL_CACHE="${STACKREEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/stackreel}"
    host
    debian
    more
    go_programs trixie 1.24
    go_programs sid 1.26
    libraries
    ;;
*)
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
sums
finish
