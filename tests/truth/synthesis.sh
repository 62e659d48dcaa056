#!/bin/bash
# synthesis.sh [--quick] - compare rows synthesized from code (replay/synthesis/) with CFI's rows
#
# tests/unwind/synthesized_rows compares them: every instruction of every function that has CFI, as if it had none.  CFI must agree with
# each row that is marked certain; the share of these is printed.  Each file is a case.  --quick (tests/unwind/test-synthesis.sh) uses some
# libraries of this host and of the cross compilers; without it, also libraries of five architectures from Debian.
#
# Prints one line per file, totals per CPU, and the known differences with their counts.
#   O=DIR                 where tests/unwind/synthesized_rows was built (build)
#   SYNTHESIS_FILES="a b" more files
. "$(dirname "$0")/../count.sh"
program=$O/tests/unwind/synthesized_rows
export LC_ALL=C

if [ ! -x "$program" ]; then
    skip "$program is not built"
    finish
fi

# check FILE [NAME]: a missing file is skipped.
check() {
    local name=${2:-${1##*/}} status=0
    if [ ! -e "$1" ]; then
        skip "no $1"
        return
    fi
    nice "$program" "$1" >"$work/log" 2>"$work/err" || status=$?
    last="$program $1"
    [ -z "${by_gcc-}" ] || ! grep -q ', late CFI: [1-9]' "$work/log" || status=1
    if grep -q ', 0 instructions, ' "$work/log"; then
        skip "$name has no CFI for functions"
        return
    fi
    count $status "$name"
    [ $status = 0 ] || sed 's/^/    /' "$work/log"
    sed -n 's/^  exempt: //p' "$work/log" >>"$work/sums"
    sed -n "s|^.*: \([^ :]*, [0-9]* instructions, .* differences\)$|$name: \1|p" "$work/log" | tee -a "$work/table"
}

host() {
    local name triple lib by_gcc=1 # which describes each instruction of prologues and epilogues
    lib=/usr/lib/$(gcc -print-multiarch 2>/dev/null || echo x86_64-linux-gnu)
    for name in libc.so.6 libm.so.6 libgcc_s.so.1 libstdc++.so.6 libcrypto.so.3; do
        check "$lib/$name"
    done
    for triple in aarch64-linux-gnu riscv64-linux-gnu s390x-linux-gnu i686-linux-gnu; do
        [ "/usr/lib/$triple" = "$lib" ] && continue
        for name in libc.so.6 libm.so.6 libgcc_s.so.1 libstdc++.so.6; do
            check "/usr/$triple/lib/$name" "$name of $triple"
        done
    done
    by_gcc=
    for name in ${SYNTHESIS_FILES-}; do
        check "$name"
    done
}

# package SUITE ARCH PACKAGE PATTERN...: files of a Debian package.
package() {
    local suite=$1 arch=$2 package=$3 folder pattern file found
    shift 3
    if ! folder=$(tests/truth/package.sh "$suite" "$arch" "$package" 2>"$work/err"); then
        skip "$package of $suite for $arch: $(tail -n 1 "$work/err")"
        return
    fi
    for pattern; do
        found=
        for file in "$folder"$pattern; do
            [ -f "$file" ] && [ ! -L "$file" ] || continue
            found=yes
            check "$file" "${file##*/} of $suite, $arch"
        done
        [ -n "$found" ]
        count $? "$package of $suite for $arch has $pattern"
    done
}

# Built by gcc, clang, rustc, and hand-written.
debian() {
    local suite arch openssl lib='/usr/lib/*-linux-gnu'
    while read -r suite arch openssl; do
        package "$suite" "$arch" libc6 "$lib/libc.so.6" "$lib/libm.so.6"
        package "$suite" "$arch" libstdc++6 "$lib/libstdc++.so.6.*"
        package "$suite" "$arch" "$openssl" "$lib/libcrypto.so.3"
        package "$suite" "$arch" libglib2.0-0"${openssl#libssl3}" "$lib/libgio-2.0.so.0.*"
        package "$suite" "$arch" librsvg2-2 "$lib/librsvg-2.so.*"
        package "$suite" "$arch" libsqlite3-0 "$lib/libsqlite3.so.*"
        package "$suite" "$arch" libopenblas0-pthread "$lib/openblas-pthread/libopenblas-*.so"
        package "$suite" "$arch" libgmp10 "$lib/libgmp.so.10.*"
        package "$suite" "$arch" libzstd1 "$lib/libzstd.so.1.*"
        package "$suite" "$arch" ripgrep /usr/bin/rg
    done <<END
bookworm amd64 libssl3
bookworm arm64 libssl3
bookworm s390x libssl3
bookworm i386 libssl3
trixie amd64 libssl3t64
trixie arm64 libssl3t64
trixie s390x libssl3t64
trixie riscv64 libssl3t64
END
    for arch in amd64 arm64; do
        package bookworm "$arch" libc++1-14 '/usr/lib/llvm-14/lib/libc++.so.1.0'
        package bookworm "$arch" libavcodec59 "$lib/libavcodec.so.59.*"
        package bookworm "$arch" libdav1d6 "$lib/libdav1d.so.6.*"
        package bookworm "$arch" libx264-164 "$lib/libx264.so.164"
    done
}

# Totals per CPU; shares are of its instructions.
sums() {
    awk '{ count = $NF; sub(/: [0-9]+$/, ""); sum[$0] += count } END { for (what in sum) printf "%14d %s\n", sum[what], what }' \
        "$work/sums" | sort -k 2
    sed 's/^.*: \([^ :]*, [0-9]* instructions\)/\1/; s/[,%]//g' "$work/table" | awk '
        { cpu = $1; n[cpu] += $2; files[cpu]++; certain[cpu] += $2 * $5; right[cpu] += $2 * $7; other[cpu] += $2 * $9
          undecided[cpu] += $2 * $11; none[cpu] += $2 * $13; registers[cpu] += $14; disputed[cpu] += $16; differences[cpu] += $18 }
        END { for (cpu in n) printf "%s: %d files, %d instructions, certain %.2f%%, right %.2f%%, other %.2f%%, undecided %.2f%%, none %.2f%%, %d registers, %d disputed, %d differences\n",
            cpu, files[cpu], n[cpu], certain[cpu] / n[cpu], right[cpu] / n[cpu], other[cpu] / n[cpu], undecided[cpu] / n[cpu], none[cpu] / n[cpu],
            registers[cpu], disputed[cpu], differences[cpu] }' | sort
}

: >"$work/sums"
: >"$work/table"
case ${1-} in
--quick) host ;;
'')
    export STACKREEL_CACHE="${STACKREEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/stackreel}"
    host
    debian
    ;;
*)
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
sums
finish
