#!/bin/bash
# deps.sh [s390x|riscv64|hosts]... - install and list the requirements of the vm tests on this host
#
# Without arguments: requirements of x86_64 and arm64 guests. Each argument adds the emulator and the cross compiler of one more
# architecture; "hosts" adds qemu-user and the cross compilers of tests/hosts. Installed packages are not changed. The
# cross compilers bring the target's libc as ordinary packages (libc6-dev-ARCH-cross): no foreign architecture is ever added to the
# host's dpkg.
# Needs root only if something is missing.
set -euo pipefail

packages=(qemu-system-arm qemu-system-x86 gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross
	cpio kmod xz-utils zstd pkg-config debian-archive-keyring)
# 32-bit programs for this host's own kernel.
[ "$(uname -m)" != x86_64 ] || packages+=(gcc-i686-linux-gnu g++-i686-linux-gnu libc6-dev-i386-cross)
for arch; do
	case $arch in
	s390x | riscv64) packages+=(qemu-system-misc "gcc-$arch-linux-gnu" "g++-$arch-linux-gnu" "libc6-dev-$arch-cross") ;;
	hosts)
		packages+=(qemu-user-static)
		for target in aarch64-linux-gnu:arm64 riscv64-linux-gnu:riscv64 s390x-linux-gnu:s390x arm-linux-gnueabihf:armhf i686-linux-gnu:i386; do
			packages+=("gcc-${target%:*}" "libc6-dev-${target#*:}-cross")
		done
		;;
	arm64 | x86_64 | amd64) ;;
	*) echo "deps.sh: unknown architecture '$arch': s390x, riscv64 or hosts" >&2 && exit 2 ;;
	esac
done

missing=()
for package in "${packages[@]}"; do
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
done

if [ ${#missing[@]} = 0 ]; then
	echo "deps.sh: nothing to install"
	exit
fi
echo "deps.sh: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
install=(apt-get install -y -q --no-install-recommends -o DPkg::Lock::Timeout=600)
if ! "${install[@]}" "${missing[@]}"; then
	apt-get update -q
	"${install[@]}" "${missing[@]}"
fi
