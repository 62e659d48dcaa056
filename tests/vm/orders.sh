#!/bin/bash
# orders.sh CELL OUTDIR - record testdata/programs/orders.cc with our own recorder on another kernel
#
# Builds stackreel-record and orders for the cell's CPU, both static (riscv64: not, as the cross compiler's libc.a has no CFI, and its
# linker crashes on a newer one), runs them there, and leaves OUTDIR/orders.reel, OUTDIR/usr/bin/orders with its libraries (where
# `stackreel --symfs OUTDIR` finds them), their debug information in OUTDIR/usr/lib/debug and OUTDIR/record.log. Status: as run.sh's.
#   SECONDS_OF_CPU=N   how long orders runs (default 2)
#   RECORD_OPTIONS=…   more options of stackreel-record
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# = 2 ] || usage
cell=$1 outdir=$2
read -r _ arch _ < <("$vm/cells.sh" "$cell")
root=$(cd "$vm/../.." && pwd)
# Spelled as whoever else builds there does: make knows the names of what depends on what.
object_dir=$(realpath -m --relative-to="$root" "${O:-$root/build}")/vm-$arch

cross=()
prefix=
if [ "$arch" != "$(dpkg --print-architecture)" ]; then
	read -ra cross < <("$vm/cross.sh" "$arch")
	for variable in "${cross[@]}"; do
		case $variable in CROSS_COMPILE=*) prefix=${variable#*=} ;; esac
	done
fi
link=-static recorder=$object_dir/static/stackreel-record
[ "$arch" != riscv64 ] || link='' recorder=$object_dir/stackreel-record
make -s -C "$root" O="$object_dir" "${cross[@]}" "$recorder" >&2
outdir=$(realpath -m "$outdir")
cd "$root"
# Neither exceptions nor RTTI: they would double the program's size.
# shellcheck disable=SC2086 # an option or none
"${prefix}g++" -O2 -g -fomit-frame-pointer -fno-exceptions -fno-rtti $link -o "$object_dir/orders" \
	testdata/programs/orders.cc "-ffile-prefix-map=$root=."
libraries=
[ -n "$link" ] || libraries=$(CROSS_COMPILE=$prefix "$vm/libs.sh" "$recorder" "$object_dir/orders")

workspace
cat >"$work/script" <<-SCRIPT
	cd /out
	stackreel-record -F 999 ${RECORD_OPTIONS:-} -o orders.reel -- /bin/orders ${SECONDS_OF_CPU:-2} 2>record.log
	status=\$?
	cat record.log
	exit \$status
SCRIPT
status=0
# shellcheck disable=SC2086 # a list of words
"$vm/run.sh" "$cell" "$work/script" "$work/out" "$recorder" "$object_dir/orders" $libraries || status=$?
mkdir -p "$outdir/usr/bin"
if [ -e "$work/out/record.log" ]; then
	cp "$work/out/"* "$outdir/"
	chmod 644 "$outdir/orders.reel"
	cp "$object_dir/orders" "$outdir/usr/bin/orders"
	for library in $libraries; do
		# as the kernel names them: with /lib a link to /usr/lib
		name=$outdir/usr${library#*=} name=${name/usr\/usr/usr}
		mkdir -p "${name%/*}"
		cp "${library%%=*}" "$name"
	done
	# the names of libc's static functions
	if [ -n "$libraries" ]; then
		mkdir -p "$outdir/usr/lib/debug"
		cp -r "$("$vm/sysroot.sh" trixie "$arch" libc6-dbg)/usr/lib/debug/.build-id" "$outdir/usr/lib/debug/"
	fi
fi
exit $status
