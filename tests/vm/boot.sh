#!/bin/bash
# boot.sh ARCH CPU KERNEL-DIR INITRAMFS OUTDIR - boot a guest under qemu, and return the status of its script
#
# Prints the script's output, and copies the files in the guest's /out to OUTDIR (empty or absent before) and the console messages
# to OUTDIR.console. Status: the script's own; 124 after a timeout, 125 if the guest ended without a result.
# A kernel that does not start its first process in time is booted again, at most twice: one in ten of s390x's hangs under -icount.
# $STACKREEL_VM_TIMEOUT: seconds, only to stop guests that hang, as a busy host slows all down several times (900)
# $STACKREEL_VM_BOOT: seconds until the first process (90)
# $STACKREEL_VM_CPUS: number of CPUs (the cell's)
# $STACKREEL_VM_MEMORY: MB (1024)
# $STACKREEL_VM_APPEND: appended to the kernel command line
# $STACKREEL_VM_ACCEL: qemu's accelerator (tcg, which works on every host)
# $STACKREEL_VM_ICOUNT: qemu's -icount, e.g. shift=3,sleep=off: guest time advances by executed instructions, so that a busy host does not
# cost samples
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# = 5 ] || usage
arch=$(debian_arch "$1") cpu=$2 kernel=$3 initramfs=$4 outdir=$(realpath -m "$5")
console=$outdir.console seconds=${STACKREEL_VM_TIMEOUT:-900}
[ ! -e "$outdir" ] || [ -z "$(ls -A "$outdir")" ] || fail "$outdir is not empty"
mkdir -p "$outdir"

case $arch in
amd64) qemu=(qemu-system-x86_64 -machine q35) tty=ttyS0 ;;
# The machine's usual interrupt controller is for 8 CPUs at most.
arm64) qemu=(qemu-system-aarch64 -machine "virt$([ "${STACKREEL_VM_CPUS:-2}" -le 8 ] || echo ,gic-version=3)") tty=ttyAMA0 ;;
riscv64) qemu=(qemu-system-riscv64 -machine virt) tty=ttyS0 ;;
s390x) qemu=(qemu-system-s390x -machine s390-ccw-virtio) tty=ttysclp0 ;;
esac
need "${qemu[0]}"

workspace
stream=$work/stream.tar

# started: waits until the guest's first process runs; fails if the guest ends first or exceeds the time
started() {
	local end=$((SECONDS + ${STACKREEL_VM_BOOT:-90}))
	while [ $SECONDS -lt $end ] && kill -0 "$pid" 2>/dev/null; do
		! grep -qs '^init: started' "$console" || return 0
		sleep 0.3
	done
	grep -qs '^init: started' "$console"
}

# panic=-1 with -no-reboot: a guest that panics exits immediately.
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
	# Emulated CPUs occasionally make the kernel hang in ways that real ones do not.
	echo "boot.sh: the guest hung or panicked before its first process; starting it again" >&2
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
