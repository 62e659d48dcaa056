#!/bin/bash
# kernel.sh SUITE ARCH [PACKAGE] - print a folder with the newest stock Debian kernel of a release
#
# PACKAGE is the metapackage to follow (default linux-image-ARCH); linux-image-arm64-16k has 16 KB pages.
# The folder contains vmlinuz (for qemu's -kernel), release (uname -r's output) and lib/modules (for modprobe -d). The kernel
# stays the same while it is in the cache: remove the cache's kernel/ for newer ones.
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# -ge 2 ] || usage
suite=$1 arch=$(debian_arch "$2")
package=${3:-linux-image-$arch} dir=$STACKREEL_CACHE/kernel/$suite-$arch-${3:-linux-image-$arch}

# Modules for hardware that guests do not have, which need most of the space and of depmod's time.
unused=(--exclude='*/kernel/sound' --exclude='*/dtb' --exclude='*/usr/lib/linux-image-*' --exclude='*/drivers/net/'{wireless,ethernet,usb,can}
	--exclude='*/drivers/'{gpu,media,staging,infiniband,iio,scsi,usb,hwmon,hid,mfd,input,platform})

# release is written last: its existence marks the folder as complete
if [ ! -e "$dir/release" ]; then
	cache_lock "kernel-${dir##*/}"
fi
if [ ! -e "$dir/release" ]; then
	need depmod
	rm -rf "$dir"
	mkdir -p "$dir"/{.debs,boot}
	# metapackage -> linux-image-VERSION -> since 7.2 linux-{base,binary,modules}-VERSION
	tree=$("$vm/apt.sh" "$suite" "$arch" apt-cache depends --recurse --important "$package")
	names=$(grep -E '^linux-(image|binary|modules|base-[0-9])' <<<"$tree" | sort -u | tr '\n' ' ') ||
		fail "no kernel package $package in $suite for $arch"
	# shellcheck disable=SC2086 # a list of words
	(cd "$dir/.debs" && "$vm/apt.sh" "$suite" "$arch" apt-get -o Debug::NoLocking=1 download $names >log 2>&1) ||
		{ status=$?; tail -n 20 "$dir/.debs/log" >&2; fail "cannot fetch $names($suite, $arch)" $status; }
	unpack "$dir" "$dir"/.debs/*.deb -- "${unused[@]}"
	rm -rf "$dir/.debs"
	image=$(find "$dir/boot" "$dir/usr/lib/modules" -name 'vmlinu[xz]*' -type f | head -n 1)
	[ -n "$image" ] || fail "no vmlinuz in $names"
	ln -s "$(realpath --relative-to="$dir" "$image")" "$dir/vmlinuz"
	release=$(ls "$dir/lib/modules")
	depmod -b "$dir" "$release" 2>/dev/null || fail "depmod failed on $dir"
	echo "$release" >"$dir/release"
fi
echo "$dir"
