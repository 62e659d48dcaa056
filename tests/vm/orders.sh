#!/bin/bash
# orders.sh CELL OUTDIR - record testdata/programs/orders.cc with our own recorder on another kernel
#
# Builds stackreel-record and orders for the cell's CPU, both static, runs them there, and leaves OUTDIR/orders.reel, OUTDIR/usr/bin/orders
# (where `stackreel --symfs OUTDIR` finds it) and OUTDIR/record.log. Status: as run.sh's.
#   SECONDS_OF_CPU=N   how long orders runs (default 2)
#   RECORD_OPTIONS=…   more options of stackreel-record
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# = 2 ] || usage
cell=$1 outdir=$2
read -r _ arch _ < <("$vm/cells.sh" "$cell")
root=$(cd "$vm/../.." && pwd)
object_dir=${O:-$root/build}/vm-$arch

cross=()
prefix=
if [ "$arch" != "$(dpkg --print-architecture)" ]; then
	read -ra cross < <("$vm/cross.sh" "$arch")
	for variable in "${cross[@]}"; do
		case $variable in CROSS_COMPILE=*) prefix=${variable#*=} ;; esac
	done
fi
make -s -C "$root" O="$object_dir" "${cross[@]}" static >&2
# Neither exceptions nor RTTI: they would double the program's size.
"${prefix}g++" -O2 -g -fomit-frame-pointer -fno-exceptions -fno-rtti -static -o "$object_dir/orders" \
	"$root/testdata/programs/orders.cc" "-ffile-prefix-map=$root=." "-ffile-prefix-map=$PWD=."

workspace
cat >"$work/script" <<-SCRIPT
	cd /out
	stackreel-record -F 999 ${RECORD_OPTIONS:-} -o orders.reel -- /bin/orders ${SECONDS_OF_CPU:-2} 2>record.log
	status=\$?
	cat record.log
	exit \$status
SCRIPT
status=0
"$vm/run.sh" "$cell" "$work/script" "$work/out" "$object_dir/static/stackreel-record" "$object_dir/orders" || status=$?
mkdir -p "$outdir/usr/bin"
if [ -e "$work/out/record.log" ]; then
	cp "$work/out/"* "$outdir/"
	chmod 644 "$outdir/orders.reel"
	cp "$object_dir/orders" "$outdir/usr/bin/orders"
fi
exit $status
