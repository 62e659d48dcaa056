#!/bin/bash
# sysroot.sh SUITE ARCH PACKAGE... - print a folder with these Debian packages and all their dependencies, unpacked
#
# Fetched once, then taken from the cache: one folder per list of packages. Nothing is installed or run, so any
# architecture works. Absolute symbolic links are made relative, for compilers and for qemu-user's -L.
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# -ge 3 ] || usage
suite=$1 arch=$(debian_arch "$2")
shift 2
packages=$(printf '%s\n' "$@" | LC_ALL=C sort -u | tr '\n' ' ')
name=$suite-$arch-$(sha256sum <<<"$packages" | cut -c1-10)
dir=$STACKREEL_CACHE/sysroot/$name

# .packages is written last: its existence marks the folder as complete
if [ ! -e "$dir/.packages" ]; then
	cache_lock "sysroot-$name"
fi
if [ ! -e "$dir/.packages" ]; then
	rm -rf "$dir"
	mkdir -p "$dir/.debs/partial"
	# shellcheck disable=SC2086 # a list of words
	"$vm/apt.sh" "$suite" "$arch" apt-get -y -o Debug::NoLocking=1 -o Dir::Cache::archives="$dir/.debs" \
		--download-only install $packages >"$dir/.log" 2>&1 ||
		{ status=$?; tail -n 20 "$dir/.log" >&2; fail "cannot fetch $packages($suite, $arch)" $status; }
	unpack "$dir" "$dir"/.debs/*.deb
	find "$dir" -type l -lname '/*' | while read -r link; do
		ln -snf "$(realpath -ms --relative-to="${link%/*}" "$dir$(readlink "$link")")" "$link"
	done
	rm -rf "$dir/.debs" "$dir/.log"
	echo "$packages" >"$dir/.packages"
fi
echo "$dir"
