#!/bin/bash
# record.sh CELL OUTDIR PROGRAM [ARG...] - record a program of testdata/programs or tests/programs with our own recorder on another kernel
#
# Builds stackreel-record and PROGRAM (orders, crowd, secrets) for the cell's CPU, both static (except for riscv64, whose cross compiler has
# a libc.a without CFI and a linker that crashes on a newer one), runs them there, and leaves OUTDIR/PROGRAM.reel, OUTDIR/usr/bin/PROGRAM
# with its libraries (where `stackreel --symfs OUTDIR` finds them), their debug information in OUTDIR/usr/lib/debug, OUTDIR/PROGRAM.printed
# and OUTDIR/record.log.
# Status: as run.sh's.
#   RECORD_OPTIONS=…   options of stackreel-record (default -F 999)
#   PROGRAM_ARCH=i386  build PROGRAM as 32-bit code, for an x86_64 kernel
#   REPLAY=1           also replay there, with a static stackreel: OUTDIR/report is its output, or the reason why it failed
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# -ge 3 ] || usage
cell=$1 outdir=$(realpath -m "$2") program=$3
shift 3
read -r _ arch _ _ userland < <("$vm/cells.sh" "$cell")
object_dir=$(guest_objects "$arch")
cd "$root"
source=$(compgen -G "testdata/programs/$program.c*" || compgen -G "tests/programs/$program.c*") || fail "no testdata/programs/$program.c or .cc"

cross_tools "$arch"
link=-static recorder=$object_dir/static/stackreel-record
# The CFI of riscv64's _dl_runtime_resolve does not describe ra, so disable lazy binding.
[ "$arch" != riscv64 ] || link=-Wl,-z,now recorder=$object_dir/stackreel-record
make -s O="$object_dir" "${cross[@]}" "$recorder" >&2

workspace
replayer= replay=
if [ -n "${REPLAY:-}" ]; then
	if make -s O="$object_dir" "${cross[@]}" "$object_dir/static/stackreel" 2>"$work/err" >&2; then
		replayer=$object_dir/static/stackreel
		replay="stackreel report $program.reel >report 2>&1"
	else
		replay="echo 'no static stackreel: $(grep -m1 -oE 'cannot find .*|undefined .*' "$work/err" | tr -d "'")' >report"
	fi
fi

[ -z "${PROGRAM_ARCH:-}" ] || prefix=$(triplet "$PROGRAM_ARCH")-
# Without exceptions and RTTI, which would double the program's size.
compiler=gcc languages=
[ "${source##*.}" = c ] || compiler=g++ languages="-fno-exceptions -fno-rtti"
# shellcheck disable=SC2086 # options or none
"${prefix}$compiler" -O2 -g -fomit-frame-pointer $languages $link -pthread -o "$work/$program" "$source" "-ffile-prefix-map=$root=."
libraries=
[ "$link" = -static ] || libraries=$(CROSS_COMPILE=$prefix "$vm/libs.sh" "$recorder" "$work/$program")

cat >"$work/script" <<-SCRIPT
	cd /out
	stackreel-record ${RECORD_OPTIONS:--F 999} -o $program.reel -- /bin/$program $* >$program.printed 2>record.log
	status=\$?
	$replay
	cat $program.printed record.log
	exit \$status
SCRIPT
status=0
# shellcheck disable=SC2086 # a list of words
"$vm/run.sh" "$cell" "$work/script" "$work/out" "$recorder" $replayer "$work/$program" $libraries || status=$?
[ -e "$work/out/record.log" ] || exit $status
mkdir -p "$outdir/usr/bin"
cp "$work/out/"* "$outdir/"
cp "$work/$program" "$outdir/usr/bin/"
[ ! -e "$outdir/$program.reel" ] || chmod 644 "$outdir/$program.reel"
for library in $libraries; do
	# at the paths that the kernel reports, where /lib is a link to /usr/lib
	name=$outdir/usr${library#*=} name=${name/usr\/usr/usr}
	mkdir -p "${name%/*}"
	cp "${library%%=*}" "$name"
done
if [ -n "$libraries" ]; then
	# the names of libc's static functions
	mkdir -p "$outdir/usr/lib/debug"
	cp -r "$("$vm/sysroot.sh" "$userland" "$arch" libc6-dbg)/usr/lib/debug/.build-id" "$outdir/usr/lib/debug/"
fi
exit $status
