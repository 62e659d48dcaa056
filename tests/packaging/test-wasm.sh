#!/bin/bash
# `make wasm`: in node, stackreel has the output, messages and exit status that it has on Linux, for all captures of testdata, standard input
# and new files; and it says so where it cannot do something.
#
#   O=DIR   the object directory (build)
# run.sh: thorough makes
. "$(dirname "$0")/../count.sh"
export TZ=UTC LC_ALL=C
for tool in emcc node cmake ninja dpkg-source; do
    command -v $tool >/dev/null || { skip "$tool is not installed"; finish; }
done
if ! make wasm O="$O" >"$work/out" 2>"$work/err"; then
    grep -q 'deb-src\|Failed to fetch\|Unable to find a source' "$work/err" && { skip "no source packages: $(head -n 1 "$work/err")"; finish; }
    count 1 "make wasm"
    finish
fi
wasm=$(realpath "$O/wasm/npm/stackreel.js")

# same COMMAND OPTION...: with $input as standard input. Byte-identical output, messages and status.
input=/dev/null
same() {
    timeout 120 "$stackreel" "$@" >"$work/out" 2>"$work/err" <"$input"
    local wanted=$? status
    timeout 300 node "$wasm" "$@" >"$work/wasm.out" 2>"$work/wasm.err" <"$input"
    status=$?
    [ $status = $wanted ] && cmp -s "$work/out" "$work/wasm.out" && cmp -s "$work/err" "$work/wasm.err"
    count $? "stackreel $*: status $status, $wanted natively; $(diff "$work/out" "$work/wasm.out" | head -n 2) $(diff "$work/err" "$work/wasm.err" | head -n 2)"
}

while read -r capture; do
    same folded "$capture"
done < <(find testdata -name '*.reel' | LC_ALL=C sort)

golden=testdata/golden/x86_64-exception.reel
same --help
same --version
same report --help
same report --bogus
same report /nonexistent
same report "$golden"
same report --tree "$golden"
same script "$golden"
same info "$golden"
same dump "$golden"
same doctor "$golden"
same verify "$golden"
same diff "$golden" testdata/golden/x86_64-perf-fp.reel
same ls testdata/aarch64/orders
same view "$golden" -o -
same export --format speedscope "$golden"
same report --identity /nonexistent testdata/golden/x86_64-encrypted.reel
input=$golden
same folded -
input=/dev/null
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
