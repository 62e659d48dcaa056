#!/bin/bash
# sqlite.sh - print the folder of a sqlite3 built from Debian's source with debug information
#
# The source package comes through apt with a private state, so that the host needs no deb-src line.
set -euo pipefail
. "$(dirname "$0")/../vm/common.sh"
cc=${CC:-gcc} flags=(-g -O2 -fomit-frame-pointer)
need "$cc"
need dpkg-source
need make
key=$({ "$cc" --version && echo "${flags[@]}" && cat "$0"; } | sha256sum | cut -c1-10)
dir=$STACKREEL_CACHE/workloads/sqlite-$key
cache_lock workload-sqlite
if [ ! -e "$dir/sqlite3" ]; then
	rm -rf "$dir"
	mkdir -p "$dir"
	cd "$dir"
	{
		"$vm/apt.sh" bookworm source apt-get source --only-source sqlite3
		cd sqlite3-*/
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
		./configure --disable-tcl --disable-readline --disable-shared CC="$cc" CFLAGS="${flags[*]}"
		make -j2 TCLSH_CMD="$tcl" sqlite3
		# the built program, not libtool's script around it
		cp "$([ -e .libs/sqlite3 ] && echo .libs/sqlite3 || echo sqlite3)" "$dir/sqlite3.new"
		mv "$dir/sqlite3.new" "$dir/sqlite3"
	} >"$dir/log" 2>&1 || { tail -n 20 "$dir/log" >&2; fail "cannot build sqlite3 from Debian's source"; }
fi
echo "$dir"
