#!/bin/bash
# stairs.sh CELL OUTDIR - record testdata/programs/stairs.c with Debian's own perf on another kernel, for testdata/CPU/perf
#
# Leaves in OUTDIR the input of `stackreel import` and replay: dwarf.data (--call-graph dwarf,4096 -z, if its perf has zstd), fp.data
# (--call-graph fp), pipe.data (dwarf, -o -), usr/bin/stairs, and MODE.script, the output of the guest's perf script. CELL may be
# "host": this host's perf. Status: as run.sh's.
#   ROUNDS=N   how long it runs (default 40)
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# = 2 ] || usage
cell=$1 outdir=$2
prefix=
if [ "$cell" != host ]; then
	read -r _ arch _ _ userland < <("$vm/cells.sh" "$cell")
	prefix=$(triplet "$arch")-
	[ "$arch" != "$(dpkg --print-architecture)" ] || prefix=
fi
need "${prefix}gcc"
workspace
frames=-fno-omit-frame-pointer
[[ $prefix != s390x* ]] || frames=-mbackchain
mkdir -p "$work/usr/bin"
"${prefix}gcc" -O2 -g $frames -fasynchronous-unwind-tables -fno-stack-protector -nostdlib -static -no-pie \
	-DROUNDS="${ROUNDS:-40}" -Wl,--build-id -o "$work/usr/bin/stairs" "$root/testdata/programs/stairs.c" \
	"-ffile-prefix-map=$root=." "-ffile-prefix-map=$PWD=."

cat >"$work/script" <<'SCRIPT'
	[ ! -d /out ] || { cd /out; export HOME=/out; }
	record="perf record -q -N -e cpu-clock:u -F 499"
	stack=4096 z=
	! perf version --build-options | grep -q 'zstd: *\[ *on' || z=-z
	$record --call-graph dwarf,$stack $z -o dwarf.data -- stairs || exit
	$record --call-graph fp -o fp.data -- stairs || exit
	$record --call-graph dwarf,$stack -o - -- stairs >pipe.data || exit
	for mode in dwarf fp pipe; do
		perf script -F tid,time,ip --ns --no-inline -i $mode.data >$mode.script 2>$mode.log || exit
	done
SCRIPT
mkdir -p "$outdir/usr/bin"
outdir=$(realpath "$outdir") status=0
cp "$work/usr/bin/stairs" "$outdir/usr/bin/"
if [ "$cell" = host ]; then
	need perf
	(cd "$work" && PATH=$work/usr/bin:$PATH HOME=$work sh script) || status=$?
	cp "$work"/*.data "$work"/*.script "$outdir/"
	exit $status
fi
sysroot=$("$vm/sysroot.sh" "$userland" "$arch" linux-perf)
libraries=$("$vm/libs.sh" -s "$sysroot" "$sysroot/usr/bin/perf")
# shellcheck disable=SC2086 # a list of words
"$vm/run.sh" "$cell" "$work/script" "$work/out" "$sysroot/usr/bin/perf" "$work/usr/bin/stairs" $libraries || status=$?
cp "$work/out/"*.data "$work/out/"*.script "$outdir/"
exit $status
