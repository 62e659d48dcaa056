#!/bin/bash
# inside.sh [-n] TREE FOLDER COMMAND... - run a command as root in a copy of TREE (tree.sh), with the mounts of a container
#
# The copy is an overlay, whose changes FOLDER keeps for the next command; FOLDER/src is its /src, where the command starts, and the cache of
# packages and kernels its /cache. -n: without network. The status is the command's.
set -euo pipefail
. "$(dirname "$0")/common.sh"
network=
[ "${1-}" != -n ] || { network=-n && shift; }
[ $# -ge 3 ] || usage
export tree=$1 folder=$2 cache=$STACKREEL_CACHE
shift 2
mkdir -p "$folder"/{root,upper,overlay,src}

mount_overlay() { mount -t overlay -o "lowerdir=$tree,upperdir=$folder/upper,workdir=$folder/overlay" overlay "$folder/root"; }

enter() {
	local root=$folder/root file
	if [ -e "$root/bin" ]; then mount --bind "$root" "$root"; else mount_overlay; fi
	mount -t proc proc "$root/proc"
	mount --rbind /sys "$root/sys"
	mount -t tmpfs -o mode=755 tmpfs "$root/dev"
	for file in null zero full random urandom tty; do
		: >"$root/dev/$file"
		mount --bind "/dev/$file" "$root/dev/$file"
	done
	mkdir "$root/dev/pts" "$root/dev/shm"
	mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts "$root/dev/pts"
	mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
	ln -s pts/ptmx "$root/dev/ptmx"
	ln -s /proc/self/fd "$root/dev/fd"
	for file in stdin:0 stdout:1 stderr:2; do ln -s "fd/${file#*:}" "$root/dev/${file%:*}"; done
	mkdir -p "$root/cache" "$root/src"
	mount --bind "$cache" "$root/cache"
	mount --bind "$folder/src" "$root/src"
	cp -L /etc/resolv.conf "$root/etc/resolv.conf"
	# Its root is that of the namespace, as in a container: paths of mapped files begin there.
	mkdir -p "$root/old"
	pivot_root "$root" "$root/old"
	cd /
	umount -l /old
	cd /src
}
export -f mount_overlay enter

# A container's root may be an overlay itself, which cannot hold the upper folder.
[ -e "$folder/root/bin" ] || unshare -m bash -c mount_overlay 2>/dev/null || cp -a --reflink=auto "$tree/." "$folder/root"
exec unshare -m $network --propagation private bash -c 'set -eu; enter; exec /usr/bin/env -i HOME=/root LANG=C.UTF-8 TERM=dumb \
	PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin STACKREEL_CACHE=/cache "$@"' bash "$@" </dev/null
