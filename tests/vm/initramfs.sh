#!/bin/bash
# initramfs.sh ARCH KERNEL-DIR BUSYBOX OUTPUT SCRIPT [FILE[=DEST]]... - make a guest's initramfs
#
# KERNEL-DIR is printed by kernel.sh, BUSYBOX is a static one for ARCH. The guest runs SCRIPT with its sh. Each FILE (or
# folder), with links followed, is copied to DEST, or into DEST/ if it ends with a slash; the default is /bin/NAME.
# $STACKREEL_VM_MODULES: more kernel modules to load before the script.
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# -ge 5 ] || usage
arch=$(debian_arch "$1") kernel=$2 busybox=$3 output=$(realpath -m "$4") script=$5
shift 5
need cpio
need modprobe
[ -e "$script" ] || fail "no file $script"

workspace
root=$work
unpack "$root"
mkdir -p "$root"/{proc,sys,dev,tmp,out,root,etc,guest,modules}
cp "$busybox" "$root/bin/busybox"
ln -s busybox "$root/bin/sh"
cp "$vm/init" "$root/init"
cp "$script" "$root/script"
chmod 755 "$root/init" "$root/bin/busybox"

# Modules in load order. Newer kernels have virtio built in, for which modprobe lists no file.
release=$(cat "$kernel/release")
number=100
module() {
	local file name
	while read -r file; do
		name=$(basename "$file" | sed 's/\.ko.*//')
		! compgen -G "$root/modules/*-$name.ko" >/dev/null || continue
		number=$((number + 1))
		case $file in
		*.xz) xz -dc "$file" ;;
		*.zst) zstd -dcq "$file" ;;
		*) cat "$file" ;;
		esac >"$root/modules/$number-$name.ko"
	done < <(modprobe -d "$kernel" -S "$release" --show-depends "$1" 2>/dev/null | awk '$1 == "insmod" { print $2 }')
}
for name in virtio_pci virtio_console ${STACKREEL_VM_MODULES:-}; do
	modprobe -d "$kernel" -S "$release" --show-depends "$name" >/dev/null 2>&1 || {
		# s390x's virtio devices are on a different bus
		[ "$name/$arch" = virtio_pci/s390x ] || fail "no module $name in $kernel"
		continue
	}
	module "$name"
done

for pair; do
	file=${pair%%=*} dest=/bin/${pair##*/}
	[ "$file" = "$pair" ] || dest=${pair#*=}
	[ "${dest%/}" = "$dest" ] || dest=$dest${file##*/}
	[ -e "$file" ] || fail "no file $file"
	mkdir -p "$root/$(dirname "$dest")"
	cp -rL "$file" "$root/$dest"
done
(cd "$root" && find . | LC_ALL=C sort | cpio -o -H newc --quiet -R 0:0) >"$output"
