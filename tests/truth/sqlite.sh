#!/bin/bash
# sqlite.sh - print the folder of a sqlite3 built from Debian's source with debug information. FLAGS: different flags for the compiler
set -euo pipefail
. "$(dirname "$0")/source.sh"
cc=${CC:-gcc} flags=${FLAGS:--g -O2 -fomit-frame-pointer}

build_program() {
	local tcl root library
	tcl=$(command -v tclsh || :)
	if [ -z "$tcl" ]; then
		root=$("$vm/sysroot.sh" bookworm "$(dpkg --print-architecture)" tcl8.6)
		library=$root/usr/lib/$(triplet "$(uname -m)")
		printf '#!/bin/sh\nTCL_LIBRARY=%q LD_LIBRARY_PATH=%q exec %q "$@"\n' \
			"$root/usr/share/tcltk/tcl8.6" "$library" "$root/usr/bin/tclsh8.6" >"$dir/tclsh"
		chmod +x "$dir/tclsh"
		tcl=$dir/tclsh
		PATH=$dir:$PATH
	fi
	./configure --disable-tcl --disable-readline --disable-shared CC="$cc" CFLAGS="$flags"
	make -j2 TCLSH_CMD="$tcl" sqlite3
	# the built program, not libtool's script around it
	cp "$([ -e .libs/sqlite3 ] && echo .libs/sqlite3 || echo sqlite3)" "$dir/sqlite3.new"
}

source_build sqlite3 sqlite3 "$cc" "$flags"
echo "$dir"
