#!/bin/bash
# package.sh SUITE ARCH PACKAGE... - print a folder with only these Debian packages, unpacked
#
# Fetched once, then taken from the cache.  Unlike tests/vm/sysroot.sh, it does not fetch dependencies: the files are
# only read, not run.
set -euo pipefail
. "$(dirname "$0")/../vm/common.sh"
[ $# -ge 3 ] || usage
suite=$1 arch=$(debian_arch "$2")
shift 2
name=$*
name=${name// /,}
dir=$STACKREEL_CACHE/package/$suite-$arch/$name

# .package is written last: its existence marks the folder as complete
if [ ! -e "$dir/.package" ]; then
	cache_lock "package-$suite-$arch-$name"
fi
if [ ! -e "$dir/.package" ]; then
	rm -rf "$dir"
	mkdir -p "$dir/.debs"
	(cd "$dir/.debs" && "$vm/apt.sh" "$suite" "$arch" apt-get -o Debug::NoLocking=1 download "$@") >"$dir/.log" 2>&1 ||
		{ status=$?; tail -n 5 "$dir/.log" >&2; fail "cannot fetch $* ($suite, $arch)" $status; }
	basename -a "$dir"/.debs/*.deb >"$dir/.name"
	unpack "$dir" "$dir"/.debs/*.deb
	rm -rf "$dir/.debs" "$dir/.log"
	mv "$dir/.name" "$dir/.package"
fi
echo "$dir"
