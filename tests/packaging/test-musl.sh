#!/bin/bash
# `make musl`: a static stackreel with musl in place of glibc has the output, messages and exit status of stackreel.
#
#   O=DIR   the object directory (build)
# run.sh: thorough makes
. "$(dirname "$0")/../count.sh"
. tests/support/same.sh
make_other musl musl-gcc
other=("$(realpath "$O/musl/static/stackreel")")

same_everywhere
same report --sandbox "$golden"
same report -j 4 testdata/aarch64/orders/orders.reel
readelf -lW "${other[0]}" >"$work/out" && ! grep -q INTERP "$work/out"
count $? "a static program"
run 0 "${other[@]}" pack "$golden" -o "$work/packed.reel"
"$stackreel" folded "$work/packed.reel" 2>&1 | cmp -s - <("$stackreel" folded "$golden")
count $? "pack -o: the same traces"
finish
