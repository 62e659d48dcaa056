#!/bin/bash
# fentry.sh CELL OUTDIR - record testdata/programs/reads.c at kernel functions, on another kernel
#
# Leaves in OUTDIR: NAME.reel and NAME.log of some recordings; kprobe.txt, the registers at each ksys_read while both.reel was recorded, and
# ftrace.txt, its call chains, from the kernel's own kprobes and function tracer; refused.txt, the errors of impossible recordings;
# usr/bin/reads. Status: as run.sh's, and also 0 if this kernel supports no such event; then there is only refused.txt.
set -euo pipefail
. "$(dirname "$0")/common.sh"
guest_recorder "$@"
mkdir -p "$work/usr/bin"
"${prefix}gcc" -O2 -g -static -o "$work/usr/bin/reads" "$root/testdata/programs/reads.c" \
	"-ffile-prefix-map=$root=." "-ffile-prefix-map=$PWD=."

# x86-64 kernels boot slowly in this mode.
icount=shift=3,sleep=off
case $(debian_arch "$arch") in
amd64) icount= registers='sp=%sp fp=%bp return_address=$stack0' ;;
*) registers='sp=%sp fp=%x29 return_address=%x30' ;;
esac
cat >"$work/script" <<SCRIPT
registers='$registers'
SCRIPT
cat >>"$work/script" <<'SCRIPT'
cd /out
trace=/sys/kernel/tracing
reads="/usr/bin/reads /dev/zero"

# recording NAME ROUNDS OPTION...
recording() {
	name=$1 rounds=$2
	shift 2
	stackreel-record "$@" -o $name.reel -- $reads $rounds 2>$name.log || { cat $name.log && return 1; }
	cat $name.log
}

# refused OPTION...: the recorder must fail, with one line
refused() {
	if stackreel-record "$@" -o refused.reel -- $reads 1 2>log; then
		echo "$*: recorded" >>refused.txt
	else
		echo "$*: $(cat log)" >>refused.txt
	fi
}

# The kernel's own log of each sampled call. The kprobe is set first: both patch the function.
echo "p:reel ksys_read $registers" >$trace/kprobe_events && echo 1 >$trace/events/kprobes/reel/enable
if ! recording both 40 -e fentry:ksys_read,fexit:ksys_read; then
	mv both.log refused.txt
	exit 0
fi
# Reading the trace would add more calls to it.
echo 0 >$trace/tracing_on
grep reads- $trace/trace >kprobe.txt
echo 0 >$trace/events/kprobes/reel/enable
echo >$trace/kprobe_events

echo ksys_read >$trace/set_ftrace_filter
echo 1 >$trace/options/func_stack_trace
echo >$trace/trace
echo function >$trace/current_tracer
echo 1 >$trace/tracing_on
$reads 3
echo 0 >$trace/tracing_on
grep -A30 'reads-.*ksys_read <-' $trace/trace >ftrace.txt
echo nop >$trace/current_tracer

recording period 40 -e fentry:vfs_read -c 8 || exit
# Opening /dev/net/tun enters the module; reads fail, as the file has no device attached.
events=fexit:vfs_read,cpu-clock
[ ! -e /dev/net/tun ] || reads=/usr/bin/reads\ /dev/net/tun events=$events,fentry:tun:tun_chr_open
recording mixed 20 -e $events --fp || exit
# Sample every page fault: with a frequency, a busy host may sample none.
recording faults 20 -e fexit:vfs_read,page-faults -c 1 || exit

refused -e fentry:no_such_function
refused -e fentry:nosuchmodule:vfs_read
refused -e fentry:
refused -e fexit:a:b:c
# This function enters the kernel, and cannot be traced.
refused -e fentry:$(awk '$3 ~ /^(do_syscall_64|el0_svc)$/ { print $3; exit }' /proc/kallsyms)
# Two functions with the same name.
refused -e fentry:$(awk 'NF == 3 && $2 == "t" { if (seen[$3]++ == 1) { print $3; exit } }' /proc/kallsyms)
refused $(for i in 1 2 3 4 5 6 7 8 9; do echo "-e fentry:ksys_read"; done)
rm -f refused.reel log
cat refused.txt
SCRIPT
status=0
STACKREEL_VM_TIMEOUT=${STACKREEL_VM_TIMEOUT:-900} STACKREEL_VM_MODULES=tun \
	STACKREEL_VM_ICOUNT=${STACKREEL_VM_ICOUNT-$icount} "$vm/run.sh" "$cell" "$work/script" "$work/out" "$recorder" \
	"$work/usr/bin/reads=/usr/bin/reads" || status=$?
if [ $status = 0 ]; then
	mkdir -p "$outdir/usr/bin"
	cp "$work/out/"* "$outdir/"
	chmod 644 "$outdir"/*.*
	cp "$work/usr/bin/reads" "$outdir/usr/bin/"
fi
exit $status
