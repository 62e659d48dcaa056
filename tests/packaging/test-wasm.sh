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

# On Windows: both separators, drives, options with a path. Nothing else has a backslash in its name.
mkdir -p "$work/drive/work" "$work/drive/out/in"
cp "$golden" "$work/drive/work/a b ü.reel"
windows() {
    (cd "$work/drive/work" && node -r "$OLDPWD/tests/packaging/windows.js" "$wasm" "$@")
}
"$stackreel" folded "$golden" >"$work/wanted"
for path in 'C:\work\a b ü.reel' 'C:/work/a b ü.reel' '..\work\a b ü.reel' 'a b ü.reel'; do
    windows folded "$path" >"$work/out" 2>"$work/err"
    cmp -s "$work/wanted" "$work/out"
    count $? "on Windows: $path"
done
run 0 windows pack 'a b ü.reel' -o 'C:\out\in\1.reel'
run 0 windows pack 'a b ü.reel' '--output=..\out\in\2.reel'
run 0 windows ls 'C:\out\in'
[ "$(grep -c chains "$work/out")" = 2 ]
count $? "both are listed: $(cat "$work/out")"
run 1 windows folded 'C:\missing\3.reel'
[ "$(cd "$work/drive" && find . -type f | sort)" = "./out/in/1.reel
./out/in/2.reel
./work/a b ü.reel" ]
count $? "files of Windows: $(find "$work/drive" -type f)"

# Ctrl-C ends it, as it ends any program.
mkfifo "$work/endless"
timeout --preserve-status -s INT 3 node "$wasm" folded - <>"$work/endless" >"$work/out" 2>"$work/err"
status=$?
[ $status = 130 ]
count $? "Ctrl-C: status $status"

# What npm would publish: nothing but the package, with the licence of whatever is linked; and what it installs from that.
if command -v npm >/dev/null; then
    (cd "$O/wasm/npm" && npm pack --silent --offline --pack-destination "$work" >"$work/out" 2>"$work/err")
    tar -tzf "$work"/stackreel-*.tgz | sed 's|^package/||' | LC_ALL=C sort | xargs >"$work/files"
    [ "$(cat "$work/files")" = "README.md licences/COPYING licences/COPYING-LGPLV3 licences/LICENSE licences/capstone licences/elfutils\
 licences/emscripten licences/gnulib licences/libdeflate licences/libsodium licences/libzstd licences/xz-utils licences/zlib module.js module.wasm package.json stackreel.js" ]
    count $? "the package's files: $(cat "$work/files")"
    run 0 npm install --silent --offline --no-audit --no-fund --prefix "$work/installed" "$work"/stackreel-*.tgz
    other=("$work/installed/node_modules/.bin/stackreel")
    same report "$golden"
    (cd "$work/installed" && npx --offline --no-install stackreel --version) >"$work/out" 2>"$work/err"
    "$stackreel" --version | cmp -s - "$work/out"
    count $? "npx: $(cat "$work/out")"
else
    skip "npm is not installed"
fi
for library in zlib libzstd elfutils libdeflate xz-utils libsodium capstone gnulib emscripten LICENSE COPYING COPYING-LGPLV3; do
    [ -s "$O/wasm/npm/licences/$library" ]
    count $? "the licence of $library"
done
finish
