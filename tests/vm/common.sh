# common.sh - functions shared by the vm scripts; to be sourced
# shellcheck shell=bash

vm=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034 # the scripts that source this one use it
root=${vm%/tests/vm}
export STACKREEL_CACHE="${STACKREEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/stackreel}"
export LC_ALL=C
# depmod and modprobe are in sbin folders, which are not in every user's path
PATH=$PATH:/usr/sbin:/sbin

# The exit statuses of these scripts, distinct from a guest's script's: 77 if this host cannot do it (test harnesses
# treat it as "skipped"), 124 if a guest took too long, 125 for any other failure. So end with quit STATUS after another command's failure.
quit() {
	case $1 in
	77 | 124) exit "$1" ;;
	*) exit 125 ;;
	esac
}
set -E
trap 'quit $?' ERR

# fail MESSAGE [STATUS]
fail() {
	echo "${0##*/}: $1" >&2
	quit "${2:-125}"
}

# skip MESSAGE: for hosts that cannot do it
skip() {
	fail "$1" 77
}

# usage: prints the script's header comment, and exits
usage() {
	sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
	exit 125
}

need() {
	command -v "$1" >/dev/null || skip "$1 is not installed (tests/vm/deps.sh installs the requirements)"
}

# debian_arch ARCH: Debian's name, from that or from uname -m's
debian_arch() {
	case $1 in
	x86_64 | amd64) echo amd64 ;;
	aarch64 | arm64) echo arm64 ;;
	s390x | riscv64 | armhf | i386) echo "$1" ;;
	*) fail "unknown architecture '$1': x86_64, arm64, s390x, riscv64, armhf or i386" ;;
	esac
}

# triplet ARCH: the prefix of the cross compiler's commands
triplet() {
	case $(debian_arch "$1") in
	amd64) echo x86_64-linux-gnu ;;
	arm64) echo aarch64-linux-gnu ;;
	armhf) echo arm-linux-gnueabihf ;;
	i386) echo i686-linux-gnu ;;
	*) echo "$1-linux-gnu" ;;
	esac
}

# multiarch ARCH: the name of library folders
multiarch() {
	case $(debian_arch "$1") in
	i386) echo i386-linux-gnu ;;
	*) triplet "$1" ;;
	esac
}

# cross_tools ARCH: sets the list $cross, make's variables for a cross build, and $prefix, the prefix of the compilers' names. Both are
# empty for this host's architecture
# shellcheck disable=SC2034 # as above
cross_tools() {
	local variable variables
	cross=() prefix=
	[ "$1" != "$(dpkg --print-architecture)" ] || return 0
	variables=$("$vm/cross.sh" "$1") # ends with its status if that fails
	read -ra cross <<<"$variables"
	for variable in "${cross[@]}"; do
		case $variable in CROSS_COMPILE=*) prefix=${variable#*=} ;; esac
	done
}

# guest_objects ARCH: the object directory of programs for guests; for this host's CPU the usual one, whose objects need no second build
guest_objects() {
	local objects=${O:-$root/build}
	[ "$(debian_arch "$1")" = "$(dpkg --print-architecture)" ] || objects=$objects/vm-$1
	# An absolute path, as for all builds there: make tracks dependencies by these names.
	realpath -m "$objects"
}

# guest_recorder CELL OUTDIR: builds the static recorder for a guest, and makes $work. Sets $cell, $outdir, $arch, $recorder, and what
# cross_tools does
# shellcheck disable=SC2034 # as above
guest_recorder() {
	local object_dir
	[ $# = 2 ] || usage
	cell=$1 outdir=$2
	read -r _ arch _ < <("$vm/cells.sh" "$cell")
	object_dir=$(guest_objects "$arch")
	recorder=$object_dir/static/stackreel-record
	cross_tools "$arch"
	make -s -C "$root" O="$object_dir" "${cross[@]}" "$recorder" >&2
	workspace
}

# cache_lock NAME: takes a lock until the (sub)shell ends
cache_lock() {
	mkdir -p "$STACKREEL_CACHE/lock"
	exec 9>"$STACKREEL_CACHE/lock/$1"
	flock 9
}

# workspace: makes the folder $work; the folder and processes started by child end with this script
workspace() {
	work=$(mktemp -d) pid=
	trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null || :; rm -rf "$work"' EXIT
	trap 'exit 125' INT TERM HUP
}

# child COMMAND...: runs it in the background and waits, since a shell handles signals only after a foreground command ends
child() {
	local status=0
	"$@" &
	pid=$!
	wait "$pid" || status=$?
	pid=
	return $status
}

# unpack DIR DEB... [-- TAR-OPTION...]: with merged /usr, even for old packages
unpack() {
	local dir=$1 folder deb debs=()
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do debs+=("$1") && shift; done
	[ $# = 0 ] || shift
	for folder in bin sbin lib lib64; do
		mkdir -p "$dir/usr/$folder"
		[ -e "$dir/$folder" ] || ln -s "usr/$folder" "$dir/$folder"
	done
	for deb in "${debs[@]}"; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x --no-same-owner --keep-directory-symlink -C "$dir" "$@"
	done
}
