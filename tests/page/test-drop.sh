#!/bin/bash
# The page of `make wasm` in Chromium, opened from its file: captures that are dropped on it show the page that `stackreel view` writes, byte by
# byte, with its messages; keys, debug files, progress, cancelling, the time limit; and its policy, which forbids the network.
#
#   O=DIR       the object directory (build)
#   SHOTS=DIR CAPTURES=DIR   write pictures of the start, and of CAPTURES' pages, to SHOTS
#
# run.sh: thorough makes
# checks: cli/page host/wasm
. "$(dirname "$0")/../count.sh"
. tests/page/browser.sh
for tool in emcc dpkg-source; do
    command -v $tool >/dev/null || leave "$tool is not installed"
done
if ! make wasm O="$O" >"$work/out" 2>"$work/err"; then
    grep -q 'deb-src\|Failed to fetch\|Unable to find a source' "$work/err" && leave "no source packages: $(head -n 1 "$work/err")"
    count 1 "make wasm"
    finish
fi
page=$(realpath "$O/wasm/stackreel.html")
if [ -n "${SHOTS:-}" ]; then
    node tests/page/drop.mjs "$(realpath "$CAPTURES")" "$page" "$playwright" "$chromium" "$(realpath "$SHOTS")"
    exit
fi

# native NAME OPTION... CAPTURES...: the page that `view` writes, and its messages; as in the page, names are without folders.
native() {
    local name=$1
    shift
    (cd "$work" && TZ=UTC "$stackreel" view --no-host-files -o "$name.html" "$@" 2>"$name.err")
    sed 's/^stackreel: //' "$work/$name.err" >"$work/$name.messages"
}

orders=testdata/aarch64/orders
cp $orders/orders.reel "$work/small.reel"
cp testdata/golden/s390x-exception.reel "$work/s390x.reel"
cp testdata/x86_64/jit/python3.13-perf.reel "$work/python.reel"
head -c 20000 testdata/x86_64/chains/gcc/deep.reel >"$work/damaged.reel"
for side in before after; do python3 tests/page/make_captures.py $side "$work/$side.reel"; done
for name in small s390x python damaged; do native $name $name.reel; done
native diff before.reel after.reel
echo "a text" >"$work/text.txt"

run 0 "$stackreel" scrub -q --encrypt-to "$("$stackreel" keygen "$work/team.key")" -o "$work/encrypted.reel" "$work/small.reel"
native encrypted --identity team.key encrypted.reel
mkdir -p "$work/modules/usr/bin"
cp $orders/usr/bin/orders "$work/modules/usr/bin/"
cp testdata/i386/orders/usr/bin/orders "$work/modules/other"
native modules --module=modules/other --module=modules/usr/bin/orders small.reel
# These are not dropped alone.
rm "$work/encrypted.messages" "$work/modules.messages"
"$O/bench/repeat" 4000 testdata/x86_64/chains/gcc/deep.reel "$work/long.reel" >/dev/null
node tests/page/drop.mjs "$work" "$page" "$playwright" "$chromium" >"$work/out" 2>"$work/err"
sed '$d' "$work/out"
cat "$work/err"
read -r more _ bad _ < <(tail -n 1 "$work/out")
passed=$((passed + ${more:-0})) failed=$((failed + ${bad:-1}))
finish
