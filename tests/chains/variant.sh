#!/bin/bash
# variant.sh [OUTDIR VARIANT [ARCH]]: builds testdata/programs/chains into OUTDIR as VARIANT for ARCH, or lists the variants
#
# ARCH: x86_64, arm64, riscv64 or s390x (default: the host's). $CHAINS_OPTIONS: additional compiler options.
# Status 77, with a message, if a compiler is missing.
set -euo pipefail
# Unspecified properties are as in the first line: position-independent, dynamic, glibc.
table='
gcc          gcc    -O2 -fomit-frame-pointer
gcc-O0       gcc    -O0
gcc-O3       gcc    -O3 -fomit-frame-pointer
gcc-Os       gcc    -Os -fomit-frame-pointer
gcc-fp       gcc    -O2 -fno-omit-frame-pointer
clang        clang  -O2 -fomit-frame-pointer
clang-O0     clang  -O0
lld          clang  -O2 -fomit-frame-pointer -fuse-ld=lld
static       gcc    -O2 -fomit-frame-pointer -static
static-pie   gcc    -O2 -fomit-frame-pointer -static-pie
no-pie       gcc    -O2 -fomit-frame-pointer -no-pie
pauth        gcc    -O2 -fomit-frame-pointer -mbranch-protection=standard
clang-pauth  clang  -O2 -fomit-frame-pointer -mbranch-protection=standard
backchain    gcc    -O2 -mbackchain
musl         musl   -O2 -fomit-frame-pointer
musl-static  musl   -O2 -fomit-frame-pointer -static
'
here=$(cd "$(dirname "$0")" && pwd)
case $# in
0) echo "$table" | sed '/^$/d' && exit ;;
2 | 3) ;;
*) sed -n '2,5s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac
outdir=$1 variant=$2 arch=${3:-$(uname -m)}
read -r family options < <(echo "$table" | awk -v name="$variant" '$1 == name { $1 = ""; print }') || {
    echo "variant.sh: unknown variant '$variant'; variants: $(echo "$table" | awk '{ printf " %s", $1 }')" >&2
    exit 2
}
case $arch in arm64) arch=aarch64 ;; amd64) arch=x86_64 ;; esac

# Debian's cross compilers, or the ones of tests/vm/cross.sh; clang uses their headers and libraries.
prefix='' flags=
if [ "$arch" != "$(uname -m)" ]; then
    prefix=${CROSS_COMPILE:-$arch-linux-gnu-}
    [ "$family" != clang ] || flags=--target=$arch-linux-gnu
fi
case $family in
gcc) cc=${prefix}gcc cxx=${prefix}g++ ;;
clang) cc=clang cxx=clang++ ;;
musl)
    # Without a C++ library, so without exceptions.
    cc=$arch-linux-gnu-gcc cxx="$cc -nostdinc++ -fno-exceptions -fno-rtti"
    flags="$("$here/musl.sh" "$arch" "$outdir")" || exit
    ;;
esac
for command in "$cc" "${cxx%% *}" ${prefix:+"${prefix}g++"}; do
    command -v "$command" >/dev/null || { echo "$command is not installed" && exit 77; }
done
# shellcheck disable=SC2086 # lists of words
exec "$here/build.sh" "$outdir" "$cc" "$cxx" $flags $options ${CHAINS_OPTIONS:-}
