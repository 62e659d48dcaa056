#!/bin/bash
# chains.sh CELL OUTDIR [MODE|VARIANT/MODE...] - record testdata/programs/chains with our own recorder on another kernel
#
# Builds stackreel-record and the program for the cell's CPU, and records the given modes (default: all) of each variant in one boot.
# Leaves OUTDIR/VARIANT/MODE.reel, .printed (the program's output) and .log (the recorder's messages). OUTDIR/VARIANT/failed lists
# the modes that failed or for which no time was left. With TOGETHER=1, starting the recorder, which costs as much as half a second of a mode in
# emulation, is paid once: OUTDIR/VARIANT/together.reel has all modes but those with several processes or with stacks of megabytes, and
# OUTDIR/VARIANT/MODE.pid the process of each. OUTDIR/symfs has the programs, their libraries and the libraries' debug information:
#   stackreel script --no-host-files --symfs OUTDIR/symfs OUTDIR/VARIANT/MODE.reel
# A variant that cannot be built is skipped, with a line "skip: …". Status: as run.sh's.
#   VARIANTS="gcc …"     which of tests/chains/variant.sh's (default gcc)
#   CHAINS_OPTIONS=…     additional compiler options, for all variants
#   SECONDS_OF_CPU=N     how long a mode runs (default 0.6)
#   RECORD_OPTIONS=…     options of stackreel-record
#   FREQUENCY=N          samples a second (default 1999: an emulated CPU is slow)
#   STACK_BYTES=N        how deep mode deep goes (default 1 MB)
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# -ge 2 ] || usage
cell=$1 outdir=$2
shift 2
read -r _ arch _ _ userland < <("$vm/cells.sh" "$cell")
object_dir=$(guest_objects "$arch")
cross_tools "$arch"
export CROSS_COMPILE=$prefix

# The recorder. riscv64's libraries cannot be linked statically.
recorder=$object_dir/static/stackreel-record
[ "$arch" != riscv64 ] || recorder=$object_dir/stackreel-record
make -s -C "$root" O="$object_dir" "${cross[@]}" "$recorder" >&2

# The programs, with a C library that has debug information.
workspace
export STACKREEL_VM_TIMEOUT=${STACKREEL_VM_TIMEOUT:-900}
# So that a busy host takes neither time nor samples from the modes.
export STACKREEL_VM_ICOUNT=${STACKREEL_VM_ICOUNT-shift=3,sleep=off}
sysroot=$("$vm/sysroot.sh" "$userland" "$arch" libstdc++6 libgcc-s1 libc6-dbg)
variants=() programs=() folders=(-s "$sysroot")
for variant in ${VARIANTS:-gcc}; do
	status=0
	"$root/tests/chains/variant.sh" "$work/chains/$variant" "$variant" "$arch" >"$work/log" 2>&1 || status=$?
	[ $status != 77 ] || { echo "skip: $cell, $variant: $(tail -n 1 "$work/log")" && continue; }
	[ $status = 0 ] || { cat "$work/log" >&2 && fail "cannot build $variant for $arch"; }
	variants+=("$variant")
	case $variant in musl*) continue ;; esac
	programs+=("$work/chains/$variant/chains")
	folders+=(-s "$work/chains/$variant")
done
[ ${#variants[@]} -gt 0 ] || skip "cannot build any of the variants"
: >"$work/libraries"
[ ${#programs[@]} = 0 ] || "$vm/libs.sh" "${folders[@]}" "${programs[@]}" >>"$work/libraries"
if [[ " ${variants[*]} " = *" musl "* ]]; then
	# libc.so is also its own loader.
	for loader in "$("$vm/sysroot.sh" "$userland" "$arch" musl-dev)"/usr/lib/ld-musl-*.so.1; do
		echo "$loader=/lib/${loader##*/}" >>"$work/libraries"
	done
fi
[ "$arch" != riscv64 ] || "$vm/libs.sh" -s "$sysroot" "$recorder" >>"$work/libraries"
# The variants' own libraries are next to them.
mapfile -t libraries < <(grep -v "^$work/" "$work/libraries" | sort -u -t = -k 2,2)

cat >"$work/script" <<-SCRIPT
	export SECONDS_OF_CPU=${SECONDS_OF_CPU:-0.6} FREQUENCY=${FREQUENCY:-1999} STACK_BYTES=${STACK_BYTES:-} RECORD_OPTIONS="${RECORD_OPTIONS-}"
	# one RECORDER VARIANT MODE
	one() {
		# Keep the finished recordings instead of losing all to a boot that takes too long.
		if [ \$(cut -d . -f 1 /proc/uptime) -gt $((STACKREEL_VM_TIMEOUT * 8 / 10)) ]; then
			echo "no time left" >/out/\$2/\$3.log
			false
		else
			sh /bin/record.sh \$1 /chains/\$2 \$3 /out/\$2/\$3
		fi || echo \$3 >>/out/\$2/failed
	}
	if [ \$# -gt 0 ]; then
		variant=\$1
		shift
		for mode; do one unrecorded.sh \$variant \$mode; done
		exit
	fi
	for variant in ${variants[*]}; do
		mkdir /out/\$variant
		: >/out/\$variant/failed
		modes="$*" together=
		[ -n "\$modes" ] || modes="\$(/chains/\$variant/chains) cut"
		for mode in \$modes; do
			case \$mode in
			\$variant/*) mode=\${mode#*/} ;;
			*/*) continue ;;
			esac
			case ${TOGETHER:-0}/\$mode in
			0/* | */deep | */cut | */fork | */spawn | */exec | */thread-exec) one /bin/stackreel-record \$variant \$mode ;;
			*) together="\$together \$mode" ;;
			esac
		done
		[ -z "\$together" ] ||
			stackreel-record -q -F \$FREQUENCY \$RECORD_OPTIONS -o /out/\$variant/together.reel -- sh /script \$variant \$together 2>/root/log || {
			for mode in \$together; do echo \$mode >>/out/\$variant/failed; done
			cat /root/log
		}
	done
SCRIPT
status=0
"$vm/run.sh" "$cell" "$work/script" "$work/out" "$recorder" "$root/tests/chains/record.sh" "$vm/unrecorded.sh" "$work/chains=/" "${libraries[@]}" || status=$?
[ -d "$work/out/${variants[0]}" ] || exit $status
mkdir -p "$outdir/symfs/usr/lib/debug/.build-id"
cp -r "$work/out/." "$outdir/"
cp -r "$work/chains" "$outdir/symfs/"
for library in "${libraries[@]}"; do
	# At the paths that the kernel reports, where /lib is a link to /usr/lib.
	file=${library%%=*} name=/usr${library#*=}
	name=$outdir/symfs${name/usr\/usr/usr}
	mkdir -p "${name%/*}"
	cp "$file" "$name"
	id=$(readelf -n "$file" | sed -n 's/^ *Build ID: *//p') debug=$sysroot/usr/lib/debug/.build-id/${id:0:2}
	if [ -e "$debug/${id:2}.debug" ]; then
		mkdir -p "$outdir/symfs/usr/lib/debug/.build-id/${id:0:2}"
		cp "$debug/${id:2}.debug" "$outdir/symfs/usr/lib/debug/.build-id/${id:0:2}/"
	fi
done
chmod -R a+rX "$outdir"
exit $status
