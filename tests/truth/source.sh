# source.sh - programs built from Debian's source packages with debug information; to be sourced
# shellcheck shell=bash
. "$(dirname "${BASH_SOURCE[0]}")/../vm/common.sh"

# Fetches the source package through apt with a private state, so that the host needs no deb-src line.
#
# source_build PACKAGE PROGRAM COMPILER FLAGS: sets $dir, the folder of PROGRAM. If it is not built yet, calls the caller's build_program in
# the unpacked source, which must write $dir/PROGRAM.new. The caller's own text is part of the key.
source_build() {
	local package=$1 program=$2 compiler=$3 flags=$4 key
	need "$compiler"
	need dpkg-source
	need make
	key=$({ "$compiler" --version && echo "$flags" && cat "$0" "${BASH_SOURCE[0]}"; } | sha256sum | cut -c1-10)
	dir=$STACKREEL_CACHE/workloads/$program-$key
	cache_lock "workload-$program"
	[ ! -e "$dir/$program" ] || return 0
	rm -rf "$dir"
	mkdir -p "$dir"
	(
		cd "$dir"
		"$vm/apt.sh" bookworm source apt-get source --only-source "$package"
		cd "$package"-*/
		build_program
		mv "$dir/$program.new" "$dir/$program"
	) >"$dir/log" 2>&1 || { tail -n 20 "$dir/log" >&2; fail "cannot build $package from Debian's source"; }
}
