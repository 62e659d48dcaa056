#!/bin/bash
# cross.sh ARCH [SUITE] - print make variables for a cross build against Debian's libraries: make $(tests/vm/cross.sh arm64)
#
# CROSS_COMPILE (a prefix for gcc, g++, ar, objcopy…), PKG_CONFIG (a command), SYSROOT (a folder).
# The libraries are SUITE's (default bookworm; riscv64: trixie, its first release. Link dynamically there, as trixie's static
# libdw is missing symbols).
#
# The commands named by CROSS_COMPILE add the flags, so that makefiles need not know them. The flags:
#   --sysroot=DIR            libbpf, libelf, libdw, libcapstone, libdeflate, libzstd, libsodium, libseccomp, zlib from DIR. Debian's cross compilers
#   still search their own /usr/TRIPLET
#                            first, so libc and libstdc++ are the compiler's own.
#   no -LDIR/usr/lib/TRIPLET, which would mix the compiler's crt1.o with DIR's libc.a: such static programs crash at start on s390x.
#                            So PKG_CONFIG does not print these folders; the linker finds them by --sysroot.
#   -BDIR/usr/lib/TRIPLET    DIR's crt1.o, libc etc. if the libraries need newer ones than the compiler's (riscv64)
# By hand:  aarch64-linux-gnu-gcc --sysroot="$(tests/vm/sysroot.sh bookworm arm64 libbpf-dev …)" -static prog.c -lbpf -lelf -lz -lzstd
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# -ge 1 ] || usage
arch=$(debian_arch "$1") triplet=$(triplet "$1") multiarch=$(multiarch "$1") flags=
suite=${2:-$([ "$arch" = riscv64 ] && echo trixie || echo bookworm)}
need "$triplet-gcc"
sysroot=$("$vm/sysroot.sh" "$suite" "$arch" libbpf-dev libdw-dev libcapstone-dev libelf-dev libdeflate-dev libzstd-dev libsodium-dev libseccomp-dev zlib1g-dev libbz2-dev liblzma-dev \
	libcmocka-dev libc6-dev libc-bin)
[ "$arch" != riscv64 ] || flags="-B$sysroot/usr/lib/$multiarch"
# a separate folder per version of the libraries and this script: a build of another checkout may be using the old one
dir=$STACKREEL_CACHE/cross/$suite-$arch-$(cat <(echo "$sysroot") "$0" | sha256sum | cut -c1-10)

# .complete is written last
cache_lock "cross-$suite-$arch"
if [ ! -e "$dir/.complete" ]; then
	rm -rf "$dir"
	mkdir -p "$dir"
	for tool in gcc g++ cpp; do
		printf '#!/bin/sh\nexec %s-%s --sysroot=%s %s "$@"\n' "$triplet" "$tool" "$sysroot" "$flags" >"$dir/$triplet-$tool"
	done
	for tool in ar as ld nm objcopy objdump ranlib readelf strip gcc-ar gcc-nm gcc-ranlib; do
		ln -s "$(command -v "$triplet-$tool")" "$dir/"
	done
	cat >"$dir/$triplet-pkg-config" <<-END
		#!/bin/sh
		export PKG_CONFIG_SYSROOT_DIR=$sysroot PKG_CONFIG_PATH=
		export PKG_CONFIG_LIBDIR=$sysroot/usr/lib/$multiarch/pkgconfig:$sysroot/usr/share/pkgconfig
		export PKG_CONFIG_SYSTEM_LIBRARY_PATH=$sysroot/usr/lib/$multiarch:$sysroot/usr/lib
		export PKG_CONFIG_SYSTEM_INCLUDE_PATH=$sysroot/usr/include
		exec pkg-config "\$@"
	END
	chmod +x "$dir/$triplet"-{gcc,g++,cpp,pkg-config}
	touch "$dir/.complete"
fi
echo "CROSS_COMPILE=$dir/$triplet- PKG_CONFIG=$dir/$triplet-pkg-config SYSROOT=$sysroot"
