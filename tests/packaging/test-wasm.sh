#!/bin/bash
# `make wasm`: in node, stackreel has the output, messages and exit status that it has on Linux, for all captures of testdata, standard input
# and new files; and it says so where it cannot do something.
#
#   O=DIR   the object directory (build)
# run.sh: thorough makes
. "$(dirname "$0")/../count.sh"
. tests/support/same.sh
make_other wasm emcc node
wasm=$(realpath "$O/wasm/npm/stackreel.js")
other=(node "$wasm")

same_everywhere
cat "$golden" | node "$wasm" folded - >"$work/out" 2>"$work/err"
"$stackreel" folded "$golden" | cmp -s - "$work/out"
count $? "a pipe as standard input"

# A new capture has a name of its own, but the same traces.
echo before >"$work/packed.reel"
run 0 node "$wasm" pack "$golden" -o "$work/packed.reel"
"$stackreel" folded "$work/packed.reel" 2>&1 | cmp -s - <("$stackreel" folded "$golden")
count $? "pack -o: the same traces"
run 0 "$stackreel" verify "$work/packed.reel"
[ "$(stat -c %a "$work/packed.reel")" = 600 ] && ! ls -A "$work" | grep -q '^\.stackreel-'
count $? "pack -o: a private file, and no other: $(ls -lA "$work")"
run 1 node "$wasm" pack "$golden" -o "$work/missing/packed.reel"
run 1 node "$wasm" report --sandbox "$golden"
grep -q 'not in this build' "$work/err"
count $? "--sandbox is an error"

# Whatever is linked comes with its licence.
for library in zlib libzstd elfutils xz-utils libsodium capstone gnulib LICENSE; do
    [ -s "$O/wasm/npm/licences/$library" ]
    count $? "the licence of $library"
done
finish
