#!/bin/bash
# make.sh DIR - make a set of golden captures, of captures in testdata, in an empty folder, as README.md says. The set that 1.0 made never changes.
#
#   O=DIR   the object directory (build)
set -euo pipefail
cd "$(dirname "$0")/../.."
tool=${O:-build}/stackreel
golden=${1:?}
rmdir "$golden" && mkdir "$golden"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C.UTF-8 TZ=UTC

# chains CPU VARIANT/MODE COMMAND NAME OPTION...
chains() {
    local cpu=$1 mode=$2 command=$3 name=$4
    shift 4
    [ -d "$work/$cpu" ] || tests/matrix/unpack.sh "$cpu" "$work/$cpu"
    "$tool" "$command" -q --no-host-files --symfs "$work/$cpu" --debug-dir "$work/$cpu/usr/lib/debug" "$@" \
        -o "$golden/$name.reel" "testdata/$cpu/chains/$mode.reel"
}

for cpu in x86_64 aarch64 riscv64 s390x; do
    chains $cpu gcc/exception pack $cpu-exception
    chains $cpu gcc/inline pack $cpu-inline
done
chains aarch64 pauth/leaf pack aarch64-pauth
chains x86_64 gcc/exec pack x86_64-exec
chains x86_64 gcc/vdso shrink x86_64-shrunk
chains x86_64 gcc/inline resolve x86_64-resolved
chains x86_64 gcc/inline pack x86_64-encrypted --encrypt-to "$("$tool" keygen -y -o testdata/format/encrypted.key)"
"$tool" pack -q --no-host-files --symfs testdata/i386/orders -o "$golden"/i386-orders.reel testdata/i386/orders/orders.reel
for mode in dwarf fp; do
    "$tool" import -q -o "$work/$mode.reel" testdata/x86_64/perf/$mode.data
    "$tool" pack -q --no-host-files --symfs testdata/x86_64/perf -o "$golden"/x86_64-perf-$mode.reel "$work/$mode.reel"
done
# What V8 says of its code, and every kind of record there is.
"$tool" cut -q -o "$golden"/x86_64-jit.reel testdata/x86_64/jit/node-perf-prof.reel
cp testdata/format/good-all-records.reel "$golden"/records.reel

chmod 644 "$golden"/*.reel
tests/format/test-golden.py --write "$golden"
