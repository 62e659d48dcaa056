#!/bin/bash
# libdw.sh SYMFS FILE.reel: compares every trace with libdw's; prints unexplained differences and returns 1 if there are any
#
# Ignores two checks of compare_unwinders that do not suit captures of code without CFI: that nearly all traces reach the
# root, and the comparison with libunwind, which guesses where libdw stops.
set -u
[ $# = 2 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
compare=${O:-build}/tests/truth/compare_unwinders
out=$("$compare" --examples 2 --no-host-files --symfs "$1" "$2" 2>&1)
status=$?
if [ $status -gt 1 ] || ! grep -q '^  libdw: [0-9]* samples' <<<"$out"; then
    echo "libdw.sh: compare_unwinders failed: $out" | head -n 5
    exit 1
fi
differences=$(sed -n '/^  libdw:/,/^  libunwind:/p' <<<"$out" | sed '/^  libunwind:/d')
! grep -q UNEXPLAINED <<<"$differences" || { echo "$differences" && exit 1; }
