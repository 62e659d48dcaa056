#!/bin/bash
# `stackreel pack`, `resolve`: every capture of testdata, packed with its files or resolved to traces, gives the same traces, functions and
# lines without any file.
#
#   tests/rewrite/test-pack.sh     O=DIR   the object directory (build)
# run.sh: thorough
# checks: =replay/rewrite =replay/names elf/image replay/dwarf replay/unwind
#
# Prints the number of added bytes.
. "$(dirname "$0")/../count.sh"
[ -x "$stackreel" ] || { skip "$stackreel is not built"; finish; }

# ---- the same traces -------------------------------------------------------------------

captures=0 embedded=0 plain=0 resolved=0

traces() {
    "$stackreel" script -q -j1 --no-host-files "$@" 2>&1
}

# resolve drops an unmapped address at the end of a raw trace (SPEC.md 8.1).
hide() {
    sed -E 's/^\t +[0-9a-f]+ \[unknown\] \(\[unknown\]\)$/?/'
}

# same CAPTURE SYMFS
same() {
    local file=$1 symfs=$2
    traces --symfs "$symfs" "$file" >"$work/traces"
    run 0 "$stackreel" pack --no-host-files --symfs "$symfs" -o "$work/a.reel" "$file"
    traces "$work/a.reel" | cmp "$work/traces" -
    count $? "$file: same traces"
    run 0 "$stackreel" resolve --no-host-files --symfs "$symfs" -o "$work/c.reel" "$file"
    cmp <(hide <"$work/traces") <(traces "$work/c.reel" | hide)
    count $? "$file: same traces when resolved"
    captures=$((captures + 1)) plain=$((plain + $(wc -c <"$file")))
    embedded=$((embedded + $(wc -c <"$work/a.reel"))) resolved=$((resolved + $(wc -c <"$work/c.reel")))
}

for archive in testdata/*/chains/symfs.tar.xz; do
    cpu=${archive#testdata/} cpu=${cpu%%/*}
    tests/matrix/unpack.sh "$cpu" "$work/$cpu" || { count 1 "$cpu: unpacking"; continue; }
    for file in testdata/"$cpu"/chains/*/*.reel; do same "$file" "$work/$cpu"; done
    rm -rf "${work:?}/$cpu"
done
for file in testdata/*/orders/orders.reel; do
    same "$file" "${file%/*}"
    # The second reader, written from SPEC.md alone, finds the same names and lines in the images.
    "$O/tests/names/trace_symbols" --no-host-files "$work/a.reel" | tests/reader/reel_images.py --check "$work/a.reel" >"$work/out" 2>"$work/err"
    count $? "$file: the second reader: $(cat "$work/out" "$work/err")"
done
"$O/tests/names/trace_symbols" --no-host-files testdata/format/good-image.reel | tests/reader/reel_images.py --check testdata/format/good-image.reel >"$work/out" 2>&1
count $? "good-image.reel: the second reader: $(cat "$work/out")"
for folder in testdata/*/perf; do
    for mode in dwarf fp; do
        "$stackreel" import -q -o "$work/$mode.reel" "$folder/$mode.data" 2>"$work/err" || count 1 "$folder/$mode.data: import"
        same "$work/$mode.reel" "$folder"
    done
done
echo "$captures captures: $plain bytes, $embedded when packed, $resolved when resolved"
[ $captures -gt 50 ]
count $? "enough captures"

# ---- embedded data ---------------------------------------------------------------------

orders=testdata/i386/orders/orders.reel symfs=testdata/i386/orders
run 0 "$stackreel" pack --no-host-files --symfs $symfs -o "$work/a.reel" "$orders"
says '1 modules embedded, [0-9.]+ kB\)$'
run 0 "$stackreel" info --full --no-host-files "$work/a.reel"
grep -qE '^  embedded +[0-9,]+  /usr/bin/orders  0863' "$work/out" && grep -q '^Modules: 1 found, .* 1 embedded$' "$work/out"
count $? "info reports the embedded image"
# An existing file takes precedence.
"$stackreel" script -q --no-host-files --symfs $symfs "$work/a.reel" | cmp - <("$stackreel" script -q --no-host-files --symfs $symfs "$orders")
count $? "a packed capture gives the same traces with its file"
# Packing again, from its own images, gives the same result.
run 0 "$stackreel" pack -q --no-host-files -o "$work/b.reel" "$work/a.reel"
cmp <(traces "$work/a.reel") <(traces "$work/b.reel")
count $? "packing again keeps the traces"
[ "$("$stackreel" dump -q "$work/a.reel" | grep -c IMAGE)" = "$("$stackreel" dump -q "$work/b.reel" | grep -c IMAGE)" ]
count $? "packing again adds no images"
run 0 "$stackreel" pack -q --no-host-files --symfs $symfs --no-symbols -o "$work/c.reel" "$orders"
cmp <(traces --no-inline "$work/a.reel" | awk '{ print $1 }') <(traces "$work/c.reel" | awk '{ print $1 }') && ! traces "$work/c.reel" | grep -q 'shop::'
count $? "--no-symbols: same addresses, no names"
run 0 "$stackreel" pack -q --no-host-files --symfs $symfs --no-lines -o "$work/c.reel" "$orders"
cmp <(traces --no-inline "$work/a.reel") <(traces "$work/c.reel")
count $? "--no-lines: only inlined functions are missing"
! "$stackreel" dump -q --json --bytes "$work/c.reel" | grep -q "$(printf .stackreel.lines | xxd -p -c 100)"
count $? "--no-lines: no lines"
run 2 "$stackreel" pack "$orders"
says 'no output file; use -o FILE'

# image FILE: the capture's last image.
image() {
    "$stackreel" dump -q --json --bytes "$1" | grep '"record": "IMAGE"' | tail -n 1 | sed -E 's/.*"bytes": "([0-9a-f]*)".*/\1/' | xxd -r -p
}
image "$work/a.reel" >"$work/image"
readelf -W -a "$work/image" >"$work/out" 2>"$work/err"
[ -s "$work/out" ] && [ ! -s "$work/err" ] && ! grep -qi warning "$work/out"
count $? "readelf accepts the image"
if command -v eu-elflint >/dev/null; then
    eu-elflint --gnu-ld -d "$work/image" >"$work/out" 2>&1
    count $? "eu-elflint accepts the image"
else
    skip "eu-elflint is not installed"
fi

# ---- encrypted captures -------------------------------------------------------------------

"$stackreel" keygen "$work/key" >"$work/public"
run 0 "$stackreel" pack -q --no-host-files --symfs $symfs --encrypt-to "$(cat "$work/public")" -o "$work/d.reel" "$orders"
cmp <(traces "$work/a.reel") <(traces --identity "$work/key" "$work/d.reel")
count $? "encrypting keeps the traces"
! grep -qa stackreel.code "$work/d.reel"
count $? "embedded data is encrypted"
run 2 "$stackreel" pack -q --no-host-files --identity "$work/key" -o "$work/e.reel" "$work/d.reel"
says ': encrypted, but the new capture would not be'
run 0 "$stackreel" pack -q --no-host-files --identity "$work/key" --decrypt -o "$work/e.reel" "$work/d.reel"
cmp <(traces "$work/a.reel") <(traces "$work/e.reel")
count $? "decrypting keeps the traces"

# ---- size limits --------------------------------------------------------------------

# A library whose function names have 59,974 bytes each. All names together exceed the limit of one image (16 MiB), and five times 250 names
# exceed the limit of all images (64 MiB).
large() {
    mkdir "$work/large"
    python3 -c 'import random
for i in range(290):
    name = f"f{i:03}" + 30 * "".join(random.choices("nopqrstuvwxyz", k=1999))
    print(f".globl {name}\n.type {name}, @function\n{name}: .skip 16, 0x90\n.size {name}, 16")' |
        "${CC:-cc}" -nostdlib -static -Wl,-e0 -Wl,-Ttext=0x10000 -Wl,--build-id=0x00112233445566778899aabbccddeeff00112233 -o "$work/large/0" -x assembler - || return 1
    for i in 1 2 3 4 5 6; do ln "$work/large/0" "$work/large/$i"; done
    python3 -B - "$work/large" <<'END'
import subprocess, sys
sys.path[:0] = ["tests", "tests/reader"]
import reel_builder as b
from reel_cases import end_record, started
work = sys.argv[1]
load = [line.split() for line in subprocess.run(["readelf", "-lW", work + "/0"], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines() if " LOAD " in line and " E " in line][0]
offset = int(load[1], 16) + 0x10000 - int(load[2], 16)
side = [b.record("SPACE", 1000, 1, 0, 0, 100, 0, 62, 64, 1, 0, 0, 0), b.record("THREAD", 1000, 1, 1, 0, 100, 0, 0, "c")]
samples = b.Samples()
for i in range(7):
    side += [b.record("MODULE", i + 1, 1, 0, 0, 0, 0, bytes.fromhex("00112233445566778899aabbccddeeff00112233"), f"{work}/{i}"),
             b.record("MAP", 1000, 1, 0x1000000 * (i + 1), 0x4000, offset, 5, 2, i + 1)]
    # The first file exceeds the limit on its own; little of the last is needed.
    samples.sample(i, 2000 + i, thread=1, frames=[0x1000000 * (i + 1) + 16 * n + 1 for n in range({0: 290, 6: 3}.get(i, 250))])
open(work + "/a.reel", "wb").write(started().side(*side).samples(samples).side(end_record(samples=7)).index().trailer().data)
END
}

if [ "$(uname -m)" = x86_64 ]; then
    large
    count $? "make a capture that needs large parts of its files"
    run 0 "$stackreel" pack -o "$work/b.reel" "$work/large/a.reel"
    has err "^stackreel: warning: $work/large/0: .*required parts exceed 16777216 bytes" "^stackreel: warning: $work/large/5: with its image, module images exceed 64 MiB in total" \
        '5 modules embedded, 60\.[0-9]+ MB, 2 too large'
    [ "$(grep -c warning: "$work/err")" = 2 ]
    count $? "only these two files are reported as too large"
    # The number of named frames in each file.
    traces "$work/b.reel" | awk '$2 ~ /^f[0-9][0-9][0-9]/ { print substr($NF, length($NF) - 1, 1) }' | uniq -c | tr -s ' \n' ' ' >"$work/out"
    has out '^ 250 1 250 2 250 3 250 4 3 6 $'
    run 0 "$stackreel" info --no-host-files "$work/b.reel"
    has out '^Modules: 0 found, 2 missing.* 5 embedded$'
else
    skip "needs a compiler for x86-64, like the capture's programs"
fi

finish
