#!/bin/bash
# libstackreel.so has the ABI of testdata/abi, as abidw wrote it; only functions and enum constants may be added. Whoever appends members to
# structs that begin with their size writes it anew by the command below, and sees in abidiff's report that nothing else changed.
# (A suppression of has_data_member_inserted_at = end would also hide two members that change places.)
. "$(dirname "$0")/../count.sh"
command -v abidiff >/dev/null || { skip "abidiff is not installed (packaging/deps.sh test-all)" && finish; }
[ "$(uname -m)" = x86_64 ] || { skip "testdata/abi is of x86_64" && finish; }
readelf -S "$O/libstackreel.so.1" | grep -q '\.debug_info' || { skip "the library was built without debug information" && finish; }

mkdir "$work/include" && cp include/stackreel.h "$work/include/"
ok "write the ABI" abidw --headers-dir "$work/include" --drop-private-types --no-corpus-path --no-comp-dir-path --no-show-locs --exported-interfaces-only \
    --no-elf-needed --out-file "$work/now.abi" "$O/libstackreel.so.1"
xz -dc testdata/abi/libstackreel.so.1.abi.xz >"$work/then.abi"
ok "it is that of testdata/abi" abidiff --no-added-syms "$work/then.abi" "$work/now.abi"

# Each of these edits makes a different one.
differs() {
    sed -E "$1" "$work/then.abi" >"$work/other.abi"
    abidiff --no-added-syms "$work/other.abi" "$work/now.abi"
    case $? in 4 | 8 | 12) ;; *) false ;; esac # others are errors of abidiff
}
ok "... not with members elsewhere" differs "s/(layout-offset-in-bits=')384/\1416/"
ok "... not with another constant" differs "s/(<enumerator name='REEL_STOP_SCRUBBED' value=')13/\160/"
ok "... not with another parameter" differs "/<function-decl name='reel_capture_event'/,/<.function-decl>/{/<parameter/d}"
ok "... not with another function" differs "s/reel_capture_event/reel_capture_events/g"
finish
