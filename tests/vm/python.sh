#!/bin/bash
# python.sh CELL OUTDIR PROGRAM [ARGUMENT...] - record a Python program with Debian's python3 on another kernel, at each getppid()
#
# Leaves in OUTDIR: python.reel, and what the program printed, as `stacks`. Status: as run.sh's.
set -euo pipefail
. "$(dirname "$0")/common.sh"
guest_recorder "$1" "$2"
program=$3
shift 3
sysroot=$("$vm/sysroot.sh" bookworm "$arch" python3)
tar -C "$sysroot" --exclude=./usr/share --exclude='./.*' -cf "$work/python.tar" .

cat >"$work/script" <<SCRIPT
tar -C / -xf /python.tar && rm /python.tar
stackreel-record -q -e uprobe:\$(find /usr/lib /lib -name libc.so.6 | head -n 1):getppid -c 1 -o /out/python.reel -- \\
	python3 /program.py $* >/out/stacks
SCRIPT
status=0
STACKREEL_VM_CPUS=2 STACKREEL_VM_TIMEOUT=${STACKREEL_VM_TIMEOUT:-900} "$vm/run.sh" "$cell" "$work/script" "$work/out" \
	"$recorder" "$program=/program.py" "$work/python.tar=/python.tar" || status=$?
if [ $status = 0 ]; then
	mkdir -p "$outdir"
	cp "$work/out/"* "$outdir/"
fi
exit $status
