#!/bin/bash
# probes.sh CELL OUTDIR - record tests/programs/probed.cc with probes of user code and of the kernel, on another kernel
#
# Leaves in OUTDIR: NAME.reel and NAME.log of each recording, and usr/bin/probed. Status: as run.sh's.
set -euo pipefail
. "$(dirname "$0")/common.sh"
guest_recorder "$@"
mkdir -p "$work/usr/bin"
"${prefix}g++" -O2 -g -fomit-frame-pointer -static -pthread -o "$work/usr/bin/probed" "$root/tests/programs/probed.cc"

cat >"$work/script" <<'SCRIPT'
cd /out
probed=/usr/bin/probed
recording() {
	name=$1
	shift
	stackreel-record "$@" -o $name.reel -- $probed 200 300 >/dev/null 2>$name.log || echo "failed: $name"
	cat $name.log
}
recording entries -e uprobe:$probed:power
recording returns -e uretprobe:$probed:power
recording clock -F 4000 -e cpu-clock -e uretprobe:$probed:first -e uretprobe:$probed:second -e uretprobe:$probed:power -e uretprobe:$probed:third
recording static -e "usdt:$probed:shop:*"
recording values -e uprobe:$probed:shop::Cart::add --arg 2:s32
recording latency -e latency:$probed:power
# An exit with status 3, opened files, and the program's new name.
cat >/tmp/opens <<END
read line </etc/none
read line </proc/version
for n in \$(seq 20); do read line </etc/file\$n; done
$probed 1 >/dev/null
exit 3
END
in_kernel() {
	name=$1
	shift
	stackreel-record "$@" -o $name.reel -- sh /tmp/opens >/dev/null 2>$name.log
	cat $name.log
}
in_kernel fields -e sched:sched_process_exec --filter 'filename ~ "*/pro?ed" && pid > 1' --arg filename --arg pid
if [ -e /sys/bus/event_source/devices/kprobe ]; then
	recording kernel -e kprobe:do_exit
	in_kernel arguments -e kprobe:do_exit --arg 1 -e kprobe:do_sys_openat2 --arg 2:ustring --arg 1:s32 -e kprobe:__set_task_comm --arg 2:string \
		-e kretprobe:do_sys_openat2 --arg 1:s32
	in_kernel filtered -e kprobe:do_sys_openat2 --filter 'arg2:ustring ~ "/etc/file1*"' -e kretprobe:do_sys_openat2 --filter 'arg1:s32 == -2' \
		-e kprobe:do_exit --filter 'arg1 == 768' -e kprobe:__set_task_comm --filter 'arg2:string == "probed"'
fi
SCRIPT
status=0
STACKREEL_VM_TIMEOUT=${STACKREEL_VM_TIMEOUT:-900} "$vm/run.sh" "$cell" "$work/script" "$work/out" "$recorder" \
	"$work/usr/bin/probed=/usr/bin/probed" || status=$?
if [ $status = 0 ]; then
	mkdir -p "$outdir/usr/bin"
	cp "$work/out/"* "$outdir/"
	chmod 644 "$outdir"/*.*
	cp "$work/usr/bin/probed" "$outdir/usr/bin/"
fi
exit $status
