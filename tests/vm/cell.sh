#!/bin/bash
# cell.sh CELL [OUTDIR] - record on another kernel, replay here, and print a line: samples, right chains, losses, seconds
#
# Ordinary cells record orders (record.sh), and each of its chains must be one that it can have. The cell with 8 CPUs records crowd, with
# a thread for each CPU, at 4,999 Hz, and its line includes the throughput. On s390x-6.1, whose kernel has no BTF, the recorder
# must report that. Needs stackreel in $O (build). REPLAY=1: a static stackreel in the guest must print the same report.
# Status: 0 on success, 77 if this host cannot run it, else 1, with a description of the failure.
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# = 1 ] || [ $# = 2 ] || usage
cell=$1
O=$(realpath -m "${O:-$root/build}")
export O
workspace
dir=${2:-$work/out}
start=$EPOCHREALTIME

case $cell in
*-8cpu) program=crowd arguments=5 options="-F 4999" ;;
*)
	program=orders arguments=${SECONDS_OF_CPU:-2} options="-F 999"
	# So that a busy host does not cost samples. Kernels of x86-64 and riscv64 take minutes to boot in this mode.
	[[ $cell != s390x* ]] || options+=" -g" # shows where stacks are unreadable
	[[ $cell = x86_64* || $cell = riscv64* ]] || export STACKREEL_VM_ICOUNT=${STACKREEL_VM_ICOUNT-shift=3,sleep=off}
	;;
esac

# wrong MESSAGE [FILE]: fails with the recorder's messages and the last lines of FILE.
wrong() {
	printf '%-17s FAILED: %s\n' "$cell" "$1"
	[ ! -e "$dir/record.log" ] || sed 's/^/    /' "$dir/record.log"
	[ ! -e "${2:-}" ] || tail -n 20 "$2" | sed 's/^/    /'
	exit 1
}

status=0
RECORD_OPTIONS=$options "$vm/record.sh" "$cell" "$dir" $program "$arguments" >"$work/log" 2>&1 || status=$?
seconds=$(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $start }")
case $cell:$status in
s390x-6.1:1)
	[ "$(wc -l <"$dir/record.log")" = 1 ] && grep -q 'this kernel has no BTF' "$dir/record.log" || wrong "it said something else" "$work/log"
	printf '%-17s cannot, as expected: %s\n' "$cell" "$(cat "$dir/record.log")"
	exit
	;;
s390x-6.1:0) wrong "it records without BTF" ;;
*:77)
	echo "skip: $cell: $(tail -n 1 "$work/log")"
	exit 77
	;;
*:0) ;;
*) wrong "status $status" "$work/log" ;;
esac
mkdir -p "$dir/usr/lib/debug" # may be missing in the guest

stackreel() {
	local command=$1
	shift
	"$O/stackreel" "$command" --no-host-files --symfs "$dir" --debug-dir "$dir/usr/lib/debug" "$@" "$dir/$program.reel"
}
# Not every trace is complete: crti.o's _init has no CFI.
complete=99 chains=() annotate=()
# Many threads start there, in clone3 without CFI.
[ $program = orders ] || complete=97
# On s390x, stacks are unreadable during a context switch, from enabling interrupts until the CPU uses the task's address space
# (finish_arch_post_lock_switch, asm/mmu_context.h). Pending timers fire there: up to one in ten samples in a guest.
[[ $cell != s390x* ]] || { complete=0 && chains+=(--unread finish_task_switch) && annotate+=(--annotate); }
stackreel folded "${annotate[@]}" --min-complete $complete >"$work/folded" 2>"$work/err" || wrong "incomplete traces: $(tail -n 1 "$work/err")" "$work/folded"
# A guest that got little CPU time may have no samples of rare chains.
[ "$program" = crowd ] || [ "$(awk '{ n += $NF } END { print n }' "$work/folded")" -ge 1000 ] || chains+=(--few)
# An emulated CPU that was paused by the host is sampled where it stopped, not only in loops.
[ "$program" = crowd ] || chains+=(--bottom 0.85)
"$root/tests/chains/${program}_chains.py" --min 100 "${chains[@]}" <"$work/folded" >"$work/chains" || wrong "chains" "$work/chains"
replayed=
if [ -e "$dir/report" ]; then
	replayed="  $(head -n 1 "$dir/report")"
	if [ "${replayed#  no static}" = "$replayed" ]; then
		stackreel report >"$work/report"
		# All except the line with the capture's name.
		diff <(tail -n +2 "$work/report") <(tail -n +2 "$dir/report") >"$work/differences" || wrong "its own report is another one" "$work/differences"
		replayed="  replayed there"
	fi
fi
read -r samples _ right _ < <(tr -d , <"$work/chains")
lost=$(sed -n 's/.* \([0-9,]*\) lost,.*/\1/p' "$dir/record.log" | tr -d ,)
printf '%-17s %6d samples  %6d right  %6d lost  %5.1f s%s' "$cell" "$samples" "$right" "$lost" "$seconds" "$replayed"
if [ $program = crowd ]; then
	stackreel info | awk '
		/^samples/ { gsub(",", "", $2); rate = $2 / $4 }
		/of stacks/ { sub(".*raw; ", ""); bytes = $1 * ($2 == "GB" ? 1000 : $2 == "MB" ? 1 : 0.001) }
		/^samples/ { seconds = $4 }
		END { printf "  %d samples/s, %.1f MB/s of stacks", rate, bytes / seconds }'
	echo
else
	echo
	[ "$lost" = 0 ] || wrong "$lost samples lost"
fi
