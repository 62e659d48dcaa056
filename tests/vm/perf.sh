#!/bin/bash
# perf.sh CELL OUTDIR - record testdata/programs/orders.cc with Debian's own perf on another kernel
#
# Builds orders for the cell's CPU, once without frame pointers and once with those that the CPU's kernel walks (s390x: back chains),
# static (except for riscv64, whose cross compiler has a libc.a without CFI and a linker that crashes on a newer one). Runs both under perf
# record
# there, and leaves in OUTDIR
#   MODE.data      of user code: dwarf (--call-graph dwarf), fp (--call-graph fp), z (dwarf, -z) and pipe (dwarf, -o -);
#                  with the kernel's: kernel (dwarf)
#   MODE.script    the output of the guest's perf script: `TID TIME`, then one address per line, leaf first, then an empty line
#   perf.version   version and build options of the guest's perf
#   usr/           the programs, and their libraries (stackreel --symfs OUTDIR finds them)
#   usr/lib/debug/ debug information of the libraries (--debug-dir)
#   .debug/        perf's cache: with HOME=OUTDIR, stackreel import takes the vDSO and the kernel's symbols from there
# perf is from the release of the cell's userland, with its own libc and all libraries. Status: as run.sh's.
#   SECONDS_OF_CPU=N   how long each orders runs (default 2)
#   MODES="dwarf …"    only these
#   STACK=BYTES        per dwarf sample (default 16384)
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# = 2 ] || usage
cell=$1 outdir=$2
read -r _ arch _ _ userland < <("$vm/cells.sh" "$cell")
seconds=${SECONDS_OF_CPU:-2} stack=${STACK:-16384} modes=${MODES:-dwarf kernel fp z pipe}

# With the release's own C library, as on riscv64 the cross compiler's has no CFI.
cross_tools "$arch"
frames=-fno-omit-frame-pointer link=-static
case $arch in
s390x) frames=-mbackchain ;;
riscv64) link= ;;
esac

workspace
build() {
	# shellcheck disable=SC2086 # an option or none
	"${prefix}g++" -O2 -g -fno-exceptions -fno-rtti $link "$1" -o "$work/$2" "$root/testdata/programs/orders.cc" \
		"-ffile-prefix-map=$root=." "-ffile-prefix-map=$PWD=."
}
build -fomit-frame-pointer orders
build "$frames" orders-fp

sysroot=$("$vm/sysroot.sh" "$userland" "$arch" linux-perf)
libraries=$("$vm/libs.sh" -s "$sysroot" "$sysroot/usr/bin/perf")
cat >"$work/script" <<SCRIPT
	export HOME=/out
	cd /out
	perf version --build-options >perf.version 2>&1 || exit
	record() {
		local event=cpu-clock:u
		[ \$mode != kernel ] || event=cpu-clock
		perf record -q -m 2M -e \$event -F 499 "\$@"
	}
	for mode in $modes; do
		case \$mode in
		dwarf | kernel) record --call-graph dwarf,$stack -o \$mode.data -- orders $seconds ;;
		fp) record --call-graph fp -o fp.data -- orders-fp $seconds ;;
		z)
			grep -q 'zstd: *\[ *on' perf.version || continue
			record --call-graph dwarf,$stack -z -o z.data -- orders $seconds
			;;
		pipe) record --call-graph dwarf,$stack -o - -- orders $seconds >pipe.data ;;
		esac || exit
		perf script -F tid,time,ip --ns --no-inline -i \$mode.data >\$mode.script 2>\$mode.log ||
			{ cat \$mode.log; exit 1; }
	done
SCRIPT
status=0
# shellcheck disable=SC2086 # a list of words
"$vm/run.sh" "$cell" "$work/script" "$work/out" "$sysroot/usr/bin/perf" "$work/orders" "$work/orders-fp" $libraries || status=$?
mkdir -p "$outdir/usr/bin"
if [ -e "$work/out/perf.version" ]; then
	cp -r "$work/out/." "$outdir/"
	cp "$work/orders" "$work/orders-fp" "$outdir/usr/bin/"
	if [ -z "$link" ]; then
		for library in $libraries; do
			# at the paths that the kernel reports, where /lib is a link to /usr/lib
			case $library in
			*/ld-linux* | */libc.so.6)
				name=$outdir/usr${library#*=} name=${name/usr\/usr/usr}
				mkdir -p "${name%/*}"
				cp "${library%%=*}" "$name"
				;;
			esac
		done
		mkdir -p "$outdir/usr/lib/debug"
		cp -r "$("$vm/sysroot.sh" "$userland" "$arch" libc6-dbg)/usr/lib/debug/.build-id" "$outdir/usr/lib/debug/"
	fi
fi
exit $status
