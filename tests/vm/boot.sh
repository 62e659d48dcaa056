#!/bin/bash
# boot.sh ARCH CPU KERNEL-DIR INITRAMFS OUTDIR - boot a guest under qemu, and return the status of its script
#
# The script's output goes to stdout, the files in the guest's /out go to OUTDIR (empty or absent before), the console's messages
# to OUTDIR.console. Status: the script's own; 124 when the time was over, 125 when the guest ended without a result.
# A kernel that has not come to its first process in time is started again, twice at most: one in ten of s390x's hangs under -icount.
# $STACKREEL_VM_TIMEOUT: seconds (900: it is for guests that hang, and a busy host makes all take several times as long); $STACKREEL_VM_BOOT: of these up to the first process (90); $STACKREEL_VM_CPUS (the cell's); $STACKREEL_VM_MEMORY: MB (1024); $STACKREEL_VM_APPEND: more of
# the kernel's command line; $STACKREEL_VM_ACCEL: qemu's accelerator (tcg, which needs nothing of the host); $STACKREEL_VM_ICOUNT: qemu's
# -icount, e.g. shift=3,sleep=off: the guest's time is that of its instructions, so that a busy host takes no samples from it.
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# = 5 ] || usage
arch=$(debian_arch "$1") cpu=$2 kernel=$3 initramfs=$4 outdir=$(realpath -m "$5")
console=$outdir.console seconds=${STACKREEL_VM_TIMEOUT:-900}
[ ! -e "$outdir" ] || [ -z "$(ls -A "$outdir")" ] || fail "$outdir is not empty"
mkdir -p "$outdir"

case $arch in
amd64) qemu=(qemu-system-x86_64 -machine q35) tty=ttyS0 ;;
arm64) qemu=(qemu-system-aarch64 -machine virt) tty=ttyAMA0 ;;
riscv64) qemu=(qemu-system-riscv64 -machine virt) tty=ttyS0 ;;
s390x) qemu=(qemu-system-s390x -machine s390-ccw-virtio) tty=ttysclp0 ;;
esac
need "${qemu[0]}"

workspace
stream=$work/stream.tar

# started: waits until the guest's first process runs; fails if the guest ended before, or it takes too long
started() {
	local end=$((SECONDS + ${STACKREEL_VM_BOOT:-90}))
	while [ $SECONDS -lt $end ] && kill -0 "$pid" 2>/dev/null; do
		! grep -qs '^init: started' "$console" || return 0
		sleep 0.3
	done
	grep -qs '^init: started' "$console"
}

# panic=-1 with -no-reboot: a guest that panics ends at once.
boot() {
	rm -f "$console" "$stream"
	timeout -k 5 "$seconds" "${qemu[@]}" -accel "${STACKREEL_VM_ACCEL:-tcg}" -cpu "$cpu" \
		-smp "${STACKREEL_VM_CPUS:-2}" -m "${STACKREEL_VM_MEMORY:-1024}" \
		${STACKREEL_VM_ICOUNT:+-icount "$STACKREEL_VM_ICOUNT"} -nodefaults -display none -no-reboot -serial "file:$console" \
		-device virtio-serial -chardev "file,id=out,path=$stream" -device virtserialport,chardev=out \
		-kernel "$kernel/vmlinuz" -initrd "$initramfs" \
		-append "console=$tty rdinit=/init panic=-1 loglevel=5 ${STACKREEL_VM_APPEND:-}" </dev/null >"$work/qemu.log" 2>&1 &
	pid=$!
}

start=$EPOCHREALTIME status=0
for attempt in 1 2 3; do
	boot
	if [ $attempt = 3 ] || started; then break; fi
	# Emulated CPUs at times run the kernel into what no real one does.
	echo "boot.sh: the guest hangs, or panicked, before its first process: it is started again" >&2
	kill "$pid" 2>/dev/null && wait "$pid" || :
done
wait "$pid" || status=$?
pid=
took=$(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $start }")

if ! guest_status=$(tar -xOf "$stream" guest/status 2>/dev/null) || [ -z "$guest_status" ]; then
	cat "$work/qemu.log" >&2
	tail -n 20 "$console" 2>/dev/null | tr -d '\r' >&2 || :
	case $status in
	124 | 137) fail "no result from the guest in $seconds s; its console: $console" 124 ;;
	*) fail "no result from the guest after $took s (qemu's status: $status); its console: $console" ;;
	esac
fi
tar -xf "$stream" -C "$outdir" --no-same-owner --strip-components=1 out
tar -xOf "$stream" guest/log
echo "boot.sh: $(cat "$kernel/release"): status $guest_status in $took s$([ "$guest_status" = 0 ] || echo "; console: $console")" >&2
exit "$guest_status"
