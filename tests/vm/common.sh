# common.sh - what the vm scripts share; to be sourced
# shellcheck shell=bash

vm=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034 # the scripts that source this one use it
root=${vm%/tests/vm}
export STACKREEL_CACHE="${STACKREEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/stackreel}"
export LC_ALL=C
# depmod and modprobe are in the administrator's folders, which not every user's path has
PATH=$PATH:/usr/sbin:/sbin

# The statuses of these scripts, which can be told from that of a guest's script: 77 when this host cannot do it (test harnesses
# know it as "skipped"), 124 when a guest took too long, 125 when anything else failed. So quit STATUS for that of another command.
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

# skip MESSAGE: this host cannot do it
skip() {
	fail "$1" 77
}

# usage: prints the header comment of the script, and ends it
usage() {
	sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
	exit 125
}

need() {
	command -v "$1" >/dev/null || skip "$1 is not installed (tests/vm/deps.sh installs what is needed)"
}

# debian_arch ARCH: Debian's name, given that or uname -m's
debian_arch() {
	case $1 in
	x86_64 | amd64) echo amd64 ;;
	aarch64 | arm64) echo arm64 ;;
	s390x | riscv64 | armhf | i386) echo "$1" ;;
	*) fail "unknown architecture '$1': x86_64, arm64, s390x, riscv64, armhf or i386" ;;
	esac
}

# triplet ARCH: the name in the cross compiler's commands
triplet() {
	case $(debian_arch "$1") in
	amd64) echo x86_64-linux-gnu ;;
	arm64) echo aarch64-linux-gnu ;;
	armhf) echo arm-linux-gnueabihf ;;
	i386) echo i686-linux-gnu ;;
	*) echo "$1-linux-gnu" ;;
	esac
}

# multiarch ARCH: the name of the folders of libraries
multiarch() {
	case $(debian_arch "$1") in
	i386) echo i386-linux-gnu ;;
	*) triplet "$1" ;;
	esac
}

# cross_tools ARCH: sets the list $cross, make's variables to build for that CPU, and $prefix, that of its compilers' names; both are empty
# if it is this host's
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

# cache_lock NAME: one process at a time from here to the end of the (sub)shell
cache_lock() {
	mkdir -p "$STACKREEL_CACHE/lock"
	exec 9>"$STACKREEL_CACHE/lock/$1"
	flock 9
}

# workspace: makes the folder $work; that and what child started end with this script
workspace() {
	work=$(mktemp -d) pid=
	trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null || :; rm -rf "$work"' EXIT
	trap 'exit 125' INT TERM HUP
}

# child COMMAND...: runs it; in the background only because a shell hears signals no sooner than the foreground is done
child() {
	local status=0
	"$@" &
	pid=$!
	wait "$pid" || status=$?
	pid=
	return $status
}

# unpack DIR DEB... [-- TAR-OPTION...]: with /usr merged, whatever the package's age
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
