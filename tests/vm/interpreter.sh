#!/bin/bash
# interpreter.sh CELL OUTDIR SUITE INTERPRETER PROGRAM [ARGUMENT...] - record a program with a Debian suite's python3 or ruby on another
# kernel, at each getppid()
#
# Leaves in OUTDIR: interpreter.reel, what the program printed, as `stacks`, and the interpreter's version. Status: as run.sh's.
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# -ge 5 ] || usage
suite=$3 interpreter=$4 program=$5
guest_recorder "$1" "$2"
shift 5
sysroot=$("$vm/sysroot.sh" "$suite" "$arch" "$interpreter")
tar -C "$sysroot" --exclude=./usr/share/{doc,man,locale} --exclude='./.*' -cf "$work/files.tar" .

cat >"$work/script" <<SCRIPT
tar -C / -xf /files.tar && rm /files.tar
$interpreter --version >/out/version
stackreel-record -q --ring-size=64M -e uprobe:\$(find /usr/lib /lib -name libc.so.6 | head -n 1):getppid -c 1 -o /out/interpreter.reel -- \\
	$interpreter /program $* >/out/stacks
SCRIPT
status=0
STACKREEL_VM_CPUS=2 STACKREEL_VM_TIMEOUT=${STACKREEL_VM_TIMEOUT:-900} "$vm/run.sh" "$cell" "$work/script" "$work/out" \
	"$recorder" "$program=/program" "$work/files.tar=/files.tar" || status=$?
if [ $status = 0 ]; then
	mkdir -p "$outdir"
	cp "$work/out/"* "$outdir/"
fi
exit $status
