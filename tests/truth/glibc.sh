#!/bin/bash
# glibc.sh - print the folder of ld.so, libc.so.6 and libm.so.6, built from Debian's source with frame pointers, as Ubuntu 24.04 and Fedora 38 build theirs
set -euo pipefail
. "$(dirname "$0")/source.sh"
cc=${CC:-gcc} flags='-g -O2 -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer'
need bison
need gawk

build_program() {
	mkdir build && cd build &&
		../configure --prefix=/usr --disable-werror CC="$cc" CFLAGS="$flags" &&
		make -j2 lib &&
		make -j2 math/others &&
		cp elf/ld.so "$dir" &&
		cp math/libm.so "$dir/libm.so.6" &&
		cp libc.so "$dir/libc.so.6.new" &&
		cd .. && rm -r build
}

source_build glibc libc.so.6 "$cc" "$flags"
echo "$dir"
