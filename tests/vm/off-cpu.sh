#!/bin/bash
# off-cpu.sh CELL OUTDIR - record threads that wait, and who wakes them (--off-cpu[=all] --wakers), with our own recorder on another kernel
#
# Leaves in OUTDIR: waits.reel, the output of tests/programs/waits.c in waits.out, the recorder's messages in waits.log, the same of
# --off-cpu=all in all.*, and usr/bin/waits; of a shell on CPU 0, the only one recorded, that one on CPU 1 wakes, cpu0.reel and cpu0.log.
# Status: as run.sh's.
set -euo pipefail
. "$(dirname "$0")/common.sh"
guest_recorder "$@"
"${prefix}gcc" -D_GNU_SOURCE -O2 -g -fno-inline-functions-called-once -static -pthread -o "$work/waits" "$root/tests/programs/waits.c" \
	"-ffile-prefix-map=$root=." "-ffile-prefix-map=$PWD=."

cat >"$work/script" <<'SCRIPT'
cd /out
stackreel-record --off-cpu=199 --wakers -g -o waits.reel -- waits 4 >waits.out 2>waits.log || echo "status $?" >>waits.log
stackreel-record --off-cpu=all --min-block 0us --wakers -g -o all.reel -- waits 3 >all.out 2>all.log || echo "status $?" >>all.log
mkfifo /root/pipe
cat >/root/wake <<'END'
taskset 1 sh -c 'while read -r line; do :; done' </root/pipe &
taskset 2 sh -c 'for i in $(seq 20); do echo; usleep 50000; done' >/root/pipe
wait
END
stackreel-record -C 0 --off-cpu=all --min-block 0us --wakers -o cpu0.reel -- sh /root/wake 2>cpu0.log || echo "status $?" >>cpu0.log
SCRIPT
# x86's guests hang under -icount.
[ "${cell%%-*}" = x86_64 ] || export STACKREEL_VM_ICOUNT=shift=3,sleep=off
status=0
STACKREEL_VM_CPUS=2 "$vm/run.sh" "$cell" "$work/script" "$work/out" \
	"$recorder" "$work/waits" || status=$?
if [ $status = 0 ]; then
	mkdir -p "$outdir/usr/bin"
	cp "$work/out/"* "$outdir/"
	chmod 644 "$outdir"/*.*
	cp "$work/waits" "$outdir/usr/bin/"
fi
exit $status
