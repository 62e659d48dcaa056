#!/bin/bash
# cross.sh ARCH [SUITE] - print make variables for a cross build against Debian's libraries: make $(tests/vm/cross.sh arm64)
#
# CROSS_COMPILE (a prefix for gcc, g++, ar, objcopy…), PKG_CONFIG (a command), SYSROOT, PKG_CONFIG_SYSROOT_DIR, PKG_CONFIG_LIBDIR.
# The libraries are SUITE's, bookworm's when not given (riscv64: trixie, the first that has it; its static libdw does not link).
#
# The commands that CROSS_COMPILE names add the flags, so a makefile need not know them. What they are, and why:
#   --sysroot=DIR              libbpf, libelf, libdw, libzstd, zlib from DIR. Debian's cross compilers look in their own
#                              /usr/TRIPLET first nevertheless, so libc and libstdc++ are always the compiler's: they match it.
#   -B DIR/usr/lib/TRIPLET     only where SUITE's libc may be newer than the compiler's, and its libraries need it (riscv64)
# By hand:  aarch64-linux-gnu-gcc --sysroot="$(tests/vm/sysroot.sh …)" -static prog.c -lbpf -lelf -lz -lzstd
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# -ge 1 ] || usage
arch=$(debian_arch "$1") triplet=$(triplet "$1") flags=
suite=${2:-$([ "$arch" = riscv64 ] && echo trixie || echo bookworm)}
need "$triplet-gcc"
sysroot=$("$vm/sysroot.sh" "$suite" "$arch" libbpf-dev libdw-dev libelf-dev libzstd-dev zlib1g-dev libc6-dev)
[ "$arch" != riscv64 ] || flags="-B $sysroot/usr/lib/$triplet"
libdir=$sysroot/usr/lib/$triplet/pkgconfig:$sysroot/usr/share/pkgconfig
dir=$STACKREEL_CACHE/cross/$suite-$arch

cache_lock "cross-$suite-$arch"
if [ "$(cat "$dir/.sysroot" 2>/dev/null)" != "$sysroot" ]; then
	rm -rf "$dir"
	mkdir -p "$dir"
	for tool in gcc g++ cpp; do
		printf '#!/bin/sh\nexec %s-%s --sysroot=%s %s "$@"\n' "$triplet" "$tool" "$sysroot" "$flags" >"$dir/$triplet-$tool"
	done
	for tool in ar as ld nm objcopy objdump ranlib readelf strip gcc-ar gcc-nm gcc-ranlib; do
		ln -s "$(command -v "$triplet-$tool")" "$dir/"
	done
	printf '#!/bin/sh\nexport PKG_CONFIG_SYSROOT_DIR=%s PKG_CONFIG_LIBDIR=%s\nexec pkg-config "$@"\n' "$sysroot" "$libdir" >"$dir/$triplet-pkg-config"
	chmod +x "$dir/$triplet"-{gcc,g++,cpp,pkg-config}
	echo "$sysroot" >"$dir/.sysroot"
fi
echo "CROSS_COMPILE=$dir/$triplet- PKG_CONFIG=$dir/$triplet-pkg-config SYSROOT=$sysroot" \
	"PKG_CONFIG_SYSROOT_DIR=$sysroot PKG_CONFIG_LIBDIR=$libdir"
