#!/bin/bash
# run.sh CELL SCRIPT OUTDIR [FILE[=DEST]]... - run a shell script with some files on another kernel, and copy back its /out
#
# Fetches the cell's kernel if it is not in the cache, boots it under qemu with an initramfs of busybox and the files, runs SCRIPT
# as root, and copies the guest's /out to OUTDIR. Status: SCRIPT's; 77 if this host cannot run it; 124 after a timeout;
# 125 for any other failure. See cells.sh for the cells, initramfs.sh for FILE[=DEST], and boot.sh for variables.
# E.g. tests/vm/run.sh arm64-6.12 smoke.sh out prog $(tests/vm/libs.sh prog)
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# -ge 3 ] || usage
cell=$1 script=$2 outdir=$3
row=$("$vm/cells.sh" "$cell")
shift 3
read -r suite arch package cpu userland <<<"$row"

kernel=$("$vm/kernel.sh" "$suite" "$arch" "$package")
busybox=$("$vm/sysroot.sh" "$userland" "$arch" busybox-static)/bin/busybox
workspace
child "$vm/initramfs.sh" "$arch" "$kernel" "$busybox" "$work/initramfs" "$script" "$@"
STACKREEL_VM_CPUS=${STACKREEL_VM_CPUS:-$("$vm/cells.sh" --cpus "$cell")}
export STACKREEL_VM_CPUS
status=0
child "$vm/boot.sh" "$arch" "$cpu" "$kernel" "$work/initramfs" "$outdir" || status=$?
exit $status
