#!/bin/bash
# libs.sh [-s DIR]... ELF... - print FILE=DEST for the dynamic loader and each shared library that these programs need
#
# Searches each DIR (a sysroot, or a folder of libraries), then the paths of the compiler for the program's CPU:
# $CROSS_COMPILE's (which make sets after cross.sh, and which knows the sysroot) if it is for this CPU, else TRIPLET-gcc.
# The output is for initramfs.sh and run.sh.
set -euo pipefail
. "$(dirname "$0")/common.sh"
folders=() CROSS_COMPILE=${CROSS_COMPILE:-}
while getopts s: option; do
	[ "$option" = s ] || usage
	folders+=("$OPTARG")
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || usage
export LC_ALL=C

machine=$(readelf -h "$1" | sed -n 's/^ *Machine: *//p')
case $machine in
*X86-64*) arch=x86_64 ;;
AArch64) arch=arm64 ;;
*S/390*) arch=s390x ;;
RISC-V) arch=riscv64 ;;
ARM) arch=armhf ;;
*80386*) arch=i386 ;;
*) fail "$1: unsupported architecture: $machine" ;;
esac
triplet=$(triplet $arch) multiarch=$(multiarch $arch)

compiler=$triplet-gcc
[ "${CROSS_COMPILE%"$triplet-"}" = "${CROSS_COMPILE:-}" ] || compiler=${CROSS_COMPILE}gcc

locate() {
	local folder file
	for folder in "${folders[@]}"; do
		for file in "$folder"{/usr/lib,/lib,}{/"$multiarch",}/"$1"; do
			[ ! -e "$file" ] || { realpath -s "$file" && return; }
		done
	done
	# the compiler prints just the name of a missing file
	file=$("$compiler" -print-file-name="$1" 2>/dev/null || echo "$1")
	[ -e "$file" ] || fail "$1 not found"
	realpath -s "$file"
}

declare -A seen
queue=("$@")
while [ ${#queue[@]} -gt 0 ]; do
	elf=${queue[0]} queue=("${queue[@]:1}")
	loader=$(readelf -lW "$elf" | sed -n 's/.*program interpreter: \(.*\)\]/\1/p')
	for name in $loader $(readelf -dW "$elf" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
		[ -z "${seen[${name##*/}]:-}" ] || continue
		seen[${name##*/}]=1
		file=$(locate "${name##*/}")
		[ "$name" != "${name##*/}" ] || name=/usr/lib/$multiarch/$name
		echo "$file=$name"
		queue+=("$file")
	done
done
