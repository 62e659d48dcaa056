#!/bin/bash
# musl.sh ARCH OUTDIR: prints gcc's options to build C++ programs without a C++ library for Debian's musl; writes OUTDIR/musl.specs
#
# The library is in $(tests/vm/sysroot.sh SUITE ARCH musl-dev)/usr/lib. Status 77 if it cannot be fetched, or linked with.
set -euo pipefail
vm=$(cd "$(dirname "$0")/../vm" && pwd)
[ $# = 2 ] || { sed -n '2,4s/^# \{0,1\}//p' "$0" >&2; exit 2; }
arch=$1 outdir=$2
suite=bookworm
[ "$arch" != riscv64 ] || suite=trixie
sysroot=$("$vm/sysroot.sh" "$suite" "$arch" musl-dev)
folder=$sysroot/usr/lib/$arch-linux-musl
mkdir -p "$outdir"
# What musl-tools does for its own CPU: use musl's crt1.o, ld.so and libc instead of glibc's.
cat >"$outdir/musl.specs" <<END
*startfile:
%{shared:;static:$folder/crt1.o;:$folder/Scrt1.o} $folder/crti.o crtbeginS.o%s

*endfile:
crtendS.o%s $folder/crtn.o

*link_libgcc:
-L$folder %D

*libgcc:
libgcc.a%s

*link:
-dynamic-linker /lib/ld-musl-$arch.so.1 -nostdlib %{shared:-shared} %{static:-static}

*lib:
-lc

END
options="-specs=$outdir/musl.specs -nostdinc -isystem $sysroot/usr/include/$arch-linux-musl \
    -isystem $("$arch-linux-gnu-gcc" -print-file-name=include)"
# Debian 12's linker crashes on relocations in trixie's objects (R_RISCV_SET_ULEB128), which it does not know.
# shellcheck disable=SC2086 # words
echo 'int main(void) { return 0; }' | "$arch-linux-gnu-gcc" $options -x c -o "$outdir/linked" - 2>"$outdir/linked.log" || {
    echo "$arch-linux-gnu-gcc cannot link with $suite's musl: $(head -n 1 "$outdir/linked.log")" >&2
    exit 77
}
rm "$outdir/linked" "$outdir/linked.log"
echo "$options"
