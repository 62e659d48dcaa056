#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the libraries that stackreel links for another libc, from the distribution's source packages, and copies their licences:
#   CC=COMPILER AR=AR libraries.sh DIR SOURCES      writes DIR/include, DIR/lib and DIR/licences, and keeps source packages in SOURCES
set -eu
for tool in "$CC" "$AR" dpkg-source; do
	command -v "$tool" >/dev/null ||
		{ echo "libraries.sh: no $tool: apt-get install musl-tools (musl-gcc), emscripten (emcc), dpkg-dev (dpkg-source)" >&2; exit 1; }
done
mkdir -p "$1" "$2"
dir=$(cd "$1" && pwd)
sources=$(cd "$2" && pwd)
mkdir -p "$sources/apt/parts" "$sources/apt/lists/partial" "$dir/include" "$dir/lib" "$dir/licences"
# Each compiler's libraries are built in the same folders.
exec 9>"$sources/lock"
flock 9

# The system's package sources, but their source packages.
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
	[ ! -f "$list" ] || sed -n 's/^deb /deb-src /p' "$list"
done >"$sources/apt/parts/here.list"
for list in /etc/apt/sources.list.d/*.sources; do
	[ ! -f "$list" ] || sed 's/^Types:.*/Types: deb-src/' "$list"
	echo
done >"$sources/apt/parts/here.sources"
apt_options="-o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=$sources/apt/parts -o Dir::State::lists=$sources/apt/lists -o APT::Sandbox::User=root"

# fetch PACKAGE: enters its source; a mirror need not have the newest version.
fetch() {
	cd "$sources"
	if [ ! -d "$1" ]; then
		[ -n "${updated-}" ] || apt-get -qq $apt_options update
		updated=yes
		mkdir "$1.new"
		cd "$1.new"
		for version in $(apt-cache $apt_options showsrc --only-source "$1" | sed -n 's/^Version: //p' | sort -rV); do
			! apt-get -qq $apt_options source --only-source "$1=$version" >/dev/null 2>&1 || break
		done
		mv ./*/ "../$1"
		cd ..
		rm -r "$1.new"
	fi
	cp "$1/debian/copyright" "$dir/licences/$1"
	cd "$1"
}

# compile LIBRARY FLAGS... -- FILES...: by two compilers at a time.
compile() {
	library=$1 flags=
	[ ! -f "$dir/lib/lib$library.a" ] || return 0
	shift
	while [ "$1" != -- ]; do
		flags="$flags $1"
		shift
	done
	shift
	objects=$(mktemp -d "$dir/objects.XXXXXX")
	printf '%s\n' "$@" | xargs -P2 -I{} sh -c '$CC -O2 -w $0 -c "$1" -o "$2/$(echo "$1" | tr / _).o"' "$flags" {} "$objects"
	rm -f "$dir/lib/lib$library.a"
	$AR rcs "$dir/lib/lib$library.a" "$objects"/*.o
	rm -r "$objects"
}

fetch zlib
cp -p zlib.h zconf.h "$dir/include/"
compile z -D_LARGEFILE64_SOURCE=1 -DHAVE_UNISTD_H -- *.c

fetch libzstd
cp -p lib/zstd.h lib/zstd_errors.h "$dir/include/"
compile zstd -DZSTD_DISABLE_ASM=1 -DZSTD_LEGACY_SUPPORT=0 -- lib/common/*.c lib/compress/*.c lib/decompress/*.c

fetch libdeflate
cp -p libdeflate.h "$dir/include/"
compile deflate -I. -- lib/utils.c lib/adler32.c lib/deflate_decompress.c lib/zlib_decompress.c lib/*/cpu_features.c

fetch elfutils
cp -p libelf/libelf.h libelf/gelf.h libelf/elf.h libdw/dwarf.h "$dir/include/"
cp COPYING COPYING-LGPLV3 "$dir/licences/"
# What its configure would find; libelf's checksum of sections is not zlib's.
cat >config.h <<'end'
#define _GNU_SOURCE
#define HAVE_DECL_MEMPCPY 1
#define HAVE_DECL_MEMRCHR 1
#define HAVE_DECL_REALLOCARRAY 1
#define HAVE_DECL_ERROR 1
#define HAVE_ERR_H 1
#define crc32 elf_crc32
#include <eu-config.h>
end
compile elf -I. -Ilib -Ilibelf -I"$dir/include" -DHAVE_CONFIG_H -- libelf/*.c lib/crc32.c lib/next_prime.c

fetch xz-utils
mkdir -p "$dir/include/lzma"
cp -p src/liblzma/api/lzma.h "$dir/include/"
cp -p src/liblzma/api/lzma/*.h "$dir/include/lzma/"
# Decoders alone, as its configure would choose them; its cmake cannot find the byte order.
compile lzma $(for part in api common check lz rangecoder lzma delta simple; do echo -Isrc/liblzma/$part; done) -Isrc/common \
	-DHAVE_STDBOOL_H -DHAVE_STDINT_H -DHAVE_INTTYPES_H -DHAVE_STRING_H -DSIZEOF_SIZE_T=__SIZEOF_SIZE_T__ -DTUKLIB_SYMBOL_PREFIX=lzma_ \
	-DHAVE_CHECK_CRC32 -DHAVE_CHECK_CRC64 -DHAVE_CHECK_SHA256 -DHAVE_DECODERS -DHAVE_DECODER_LZMA1 -DHAVE_DECODER_LZMA2 \
	-DHAVE_DECODER_DELTA -DHAVE_DECODER_X86 -DHAVE_DECODER_ARM -DHAVE_DECODER_ARM64 -DHAVE_DECODER_ARMTHUMB -DHAVE_DECODER_POWERPC \
	-DHAVE_DECODER_IA64 -DHAVE_DECODER_SPARC \
	-- $(find src/liblzma -name '*.c' ! -name '*encoder*' ! -name '*_tablegen.c' ! -name '*_small.c' ! -name '*mt.c' ! -name 'fastpos*' ! -name 'price*' \
		! -name 'microlzma*' ! -name 'lz_encoder*' ! -name 'outqueue.c')

fetch libsodium
sed 's/@SODIUM_LIBRARY_MINIMAL_DEF@//;s/@SODIUM_LIBRARY_[A-Z_]*@/0/;s/@VERSION@/0/' src/libsodium/include/sodium/version.h.in >src/libsodium/include/sodium/version.h
cp -rp src/libsodium/include/sodium.h src/libsodium/include/sodium "$dir/include/"
compile sodium -Isrc/libsodium/include -Isrc/libsodium/include/sodium -DCONFIGURED=1 -DHAVE_GETENTROPY=1 -- $(find src/libsodium -name '*.c')

fetch capstone
mkdir -p "$dir/include/capstone"
cp -p include/capstone/*.h "$dir/include/capstone/"
compile capstone -Iinclude -DCAPSTONE_USE_SYS_DYN_MEM -DCAPSTONE_HAS_X86 -DCAPSTONE_HAS_ARM64 -DCAPSTONE_HAS_SYSZ \
	-- *.c arch/X86/*.c arch/AArch64/*.c arch/SystemZ/*.c

# For Linux, also its headers, and the sandbox.
if [ "$CC" = emcc ]; then
	cp /usr/share/doc/emscripten/copyright "$dir/licences/emscripten"
else
	ln -sfn /usr/include/linux /usr/include/asm-generic "/usr/include/$($CC -print-multiarch)/asm" "$dir/include/"
	fetch libseccomp
	sed 's/@VERSION_[A-Z]*@/0/' include/seccomp.h.in >include/seccomp.h
	cp include/seccomp*.h "$dir/include/"
	: >configure.h
	compile seccomp -I. -Iinclude -I"$dir/include" -D_GNU_SOURCE -DHAVE_LINUX_SECCOMP_H -- $(find src -maxdepth 1 -name '*.c' ! -name arch-syscall-dump.c)
fi

# glibc's argp, as gnulib keeps it for other systems; what its configure would find.
fetch gnulib
mkdir -p argp
cd argp
cp ../lib/argp*.[ch] ../lib/getopt.c ../lib/getopt1.c ../lib/getopt_int.h ../lib/getopt-*.h .
rm -f argp-version-etc.*
# In glibc's words.
sed -i 's/"print program version"/"Print program version"/;s/"give th/"Give th/;s/"give a short/"Give a short/' argp-parse.c
sed -i "s/Try '%s --help' or '%s --usage'/Try \`%s --help' or \`%s --usage'/" argp-help.c
sed 's/@HAVE_SYS_CDEFS_H@/0/' ../lib/getopt-cdefs.in.h >getopt-cdefs.h
sed 's/@HAVE_GETOPT_H@/0/;s/@GUARD_PREFIX@/GL/;s/@PRAGMA_[A-Z_]*@//' ../lib/getopt.in.h >getopt.h
: >gettext.h
cat >config.h <<'end'
#define _GNU_SOURCE
#define __GETOPT_PREFIX rpl_
#define GNULIB_ARGP_DISABLE_DIRNAME
#define HAVE_DECL_PROGRAM_INVOCATION_NAME 1
#define HAVE_DECL_PROGRAM_INVOCATION_SHORT_NAME 1
#define HAVE_STRERROR_R 1
#define HAVE_ASPRINTF 1
#define HAVE_STRCHRNUL 1
#define HAVE_STRNDUP 1
#define HAVE_MEMPCPY 1
#define _GL_ATTRIBUTE_PURE
#define _GL_ATTRIBUTE_MALLOC
#define _GL_ATTRIBUTE_DEALLOC(free, position)
#define _GL_ATTRIBUTE_FORMAT(format)
#define _GL_ATTRIBUTE_SPEC_PRINTF_STANDARD printf
#define _GL_ARG_NONNULL(arguments)
#define _GL_UNUSED
#define _GL_INLINE static inline
#define _GL_EXTERN_INLINE
#define _GL_INLINE_HEADER_BEGIN
#define _GL_INLINE_HEADER_END
#define gettext(text) (text)
#define dgettext(domain, text) (text)
#define alignof _Alignof
#include <stdbool.h>
end
{ echo '#pragma GCC system_header' && grep ' _GL_' config.h && cat argp.h; } >"$dir/include/argp.h"
compile argp -I. -include config.h -DHAVE_CONFIG_H -- *.c
