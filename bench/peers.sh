#!/bin/bash
# peers.sh NAME - print the command (words quoted for the shell) of a program that stackreel is compared with
#
# Fetched from Debian on the first call, then taken from the cache; nothing is installed on the host. NAME is
#   perf              the host's, or else Debian 12's
#   perf-new          the newest: Debian sid's
#   perfparser        hotspot's, from sid
#   samply            from sid
#   llvm-symbolizer   the host's, or else Debian 12's
# Programs from other releases are started by their own dynamic loader, with their own libraries.
# Status 77: not available here; standard error has the reason.
set -euo pipefail
. "$(dirname "$0")/../tests/vm/common.sh"
[ $# = 1 ] || usage
arch=$(dpkg --print-architecture 2>/dev/null) || skip "no dpkg: this host is not based on Debian"

# unpacked SUITE PACKAGE PROGRAM
unpacked() {
	local root library loader folder path
	root=$("$vm/sysroot.sh" "$1" "$arch" "$2")
	library=$root/usr/lib/$(multiarch "$arch")
	loader=$(readelf -lW "$root/$3" | sed -n 's/.*program interpreter: .*\/\(.*\)\]/\1/p')
	path=$library
	# for packages with private libraries in separate folders
	for folder in "$library"/*/ "$root"/usr/lib/llvm-*/lib/; do
		! compgen -G "${folder}lib*.so*" >/dev/null || path+=:${folder%/}
	done
	printf '%q ' "$(find "$root"/usr/lib/ -name "$loader" | head -n 1)" --library-path "$path" "$root/$3"
}

case $1 in
perf)
	if perf version >/dev/null 2>&1; then command -v perf; else unpacked bookworm linux-perf usr/bin/perf; fi
	;;
perf-new) unpacked sid linux-perf usr/bin/perf ;;
perfparser) unpacked sid hotspot usr/libexec/hotspot-perfparser ;;
samply) unpacked sid samply usr/bin/samply ;;
llvm-symbolizer)
	command -v llvm-symbolizer || unpacked bookworm llvm-14 usr/lib/llvm-14/bin/llvm-symbolizer
	;;
*) usage ;;
esac
