#!/bin/bash
# frames.sh CELL OUTDIR - record testdata/programs/stairs.c with --fp on another kernel
#
# Builds stackreel-record for the cell's CPU, and stairs twice: `kept`, in which every function has a frame record, and `leafless`, in which
# leaf functions have none. Leaves in OUTDIR kept.reel, leafless.reel, bin/kept and bin/leafless, and record.log; for a guest also
# switches.reel (kept's, of sched:sched_switch, with kernel chains) and cut.reel (kept's, with kernel.perf_event_max_stack = 4).
# CELL may be "host". Status: as run.sh's.
#   ROUNDS=N   how long each runs (default: about 3 seconds on a fast host)
#   HZ=N       samples a second (default 999)
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# = 2 ] || usage
cell=$1 outdir=$(realpath -m "$2")
O=$(realpath -m "${O:-$root/build}")
cd "$root"
recorder=$O/stackreel-record cross=() prefix= libraries=()
if [ "$cell" != host ]; then
	read -r _ arch _ < <("$vm/cells.sh" "$cell")
	object_dir=$(guest_objects "$arch")
	cross_tools "$arch"
	# riscv64's libraries cannot be linked statically.
	recorder=$object_dir/static/stackreel-record
	[ "$arch" != riscv64 ] || recorder=$object_dir/stackreel-record
	make -s O="$object_dir" "${cross[@]}" "$recorder" >&2
	[ "$arch" != riscv64 ] || mapfile -t libraries < <(CROSS_COMPILE=$prefix "$vm/libs.sh" "$recorder")
fi
need "${prefix}gcc"
workspace
# Unless it does not optimize, gcc always omits a leaf function's record (x86-64: ix86_finalize_stack_frame_flags).
# s390x's records are a chain of stack pointers.
frames=-fno-omit-frame-pointer kept="-O0 -mno-omit-leaf-frame-pointer" leafless="-O2 -momit-leaf-frame-pointer"
[[ $prefix != *riscv64-linux-gnu- ]] || kept=-O0 leafless=-O2
[[ $prefix != *s390x-linux-gnu- ]] || frames=-mbackchain kept=-O0 leafless=-O2
mkdir -p "$work/bin"
for variant in kept leafless; do
	# shellcheck disable=SC2086 # several options
	"${prefix}gcc" -g $frames ${!variant} -fasynchronous-unwind-tables -fno-stack-protector -nostdlib -static -no-pie \
		-DROUNDS="${ROUNDS:-10000000}" -DLENGTH=50 -Wl,--build-id -o "$work/bin/$variant" "$root/testdata/programs/stairs.c"
done

cat >"$work/script" <<-SCRIPT
	record="stackreel-record --fp"
	[ ! -d /out ] || cd /out
	for variant in kept leafless; do
		\$record -F ${HZ:-999} -o \$variant.reel -- \$variant 2>>record.log || exit
	done
	[ -d /out ] || exit 0
	\$record -g -e sched:sched_switch -c 1 -o switches.reel -- kept 2>>record.log || exit
	# The kernel releases call chain buffers some time after BPF programs end.
	for second in 1 2 3 4 5 6 7 8 9 10; do
		echo 4 >/proc/sys/kernel/perf_event_max_stack && break || sleep 1
	done
	\$record -F ${HZ:-999} -o cut.reel -- kept 2>>record.log
SCRIPT
mkdir -p "$outdir"
status=0
if [ "$cell" = host ]; then
	# At its own path, a program is found without --symfs.
	cp -r "$work/bin" "$outdir/"
	(cd "$outdir" && PATH=$outdir/bin:${recorder%/*}:$PATH sh "$work/script") || status=$?
else
	"$vm/run.sh" "$cell" "$work/script" "$work/out" "$recorder" "$work"/bin/* "${libraries[@]}" || status=$?
	cp -r "$work/bin" "$outdir/"
	[ ! -d "$work/out" ] || cp "$work/out/"* "$outdir/"
fi
[ ! -e "$outdir/record.log" ] || cat "$outdir/record.log"
exit "$status"
