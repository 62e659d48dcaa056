#!/bin/bash
# build.sh OUTDIR CC CXX [OPTION...]: builds testdata/programs/chains into OUTDIR
#
# Makes chains, other-chains (which mode exec executes), and the libraries for modes plt, lazy and reload.
# With -static or -static-pie among the OPTIONs, makes no libraries and supports no such modes. CC and CXX may be cross compilers.
set -euo pipefail
[ $# -ge 3 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
outdir=$1 cc=$2 cxx=$3
shift 3
options=(-g -pthread -Wall -Wextra -Werror "$@")
root=$(cd "$(dirname "$0")/../.." && pwd)
source=$root/testdata/programs/chains
machine=$($cxx "$@" -dumpmachine)
machine=${machine%%-*}
options+=("-ffile-prefix-map=$root=.")
mkdir -p "$outdir"

defines=() bare=()
if [ -e "$source/bare_$machine.S" ]; then
    defines+=(-DBARE)
    bare=("$source/bare_$machine.S")
fi
libraries=("-L$outdir" "-Wl,-rpath,\$ORIGIN" -ladd -ldl -lrt)
case " $* " in
*" -static "* | *" -static-pie "*)
    defines+=(-DSTATIC)
    libraries=(-lrt)
    ;;
*)
    # Lazy binding whatever the distribution's default is, and calls that can be interposed.
    $cc "${options[@]}" -O2 -fPIC -shared -DADD -o "$outdir/libadd.so" "$source/lazy.c"
    $cc "${options[@]}" -O2 -fPIC -fsemantic-interposition -shared -Wl,-z,lazy,-z,norelro -o "$outdir/liblazy.so" "$source/lazy.c"
    if [ -e "$source/audit_$machine.c" ]; then
        $cc "${options[@]}" -O2 -fPIC -shared -o "$outdir/libaudit.so" "$source/audit_$machine.c"
    fi
    for side in left right; do
        $cc "${options[@]}" -O2 -fPIC -shared -DSIDE=$side -o "$outdir/lib$side.so" "$source/library.c"
    done
    ;;
esac
sources=("$source"/*.cc "${bare[@]}")
$cxx "${options[@]}" "${defines[@]}" -o "$outdir/chains" "${sources[@]}" "${libraries[@]}"
$cxx "${options[@]}" "${defines[@]}" -DOTHER -o "$outdir/other-chains" "${sources[@]}" "${libraries[@]}"
