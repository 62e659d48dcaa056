#!/bin/bash
# The newest complete image of a module is used. A recorder writes newer images as it runs, and may be killed while writing.
. "$(dirname "$0")/../count.sh"
tool=$PWD/${O:-build}/stackreel
[ -x "$tool" ] || { skip "$tool is not built"; finish; }
[ "$(uname -m)" = x86_64 ] || { skip "needs a compiler for x86-64, like the capture's code"; finish; }

# Whole libraries can serve as images. Their only functions are at the same address.
for name in first second third; do
    echo "int $name(int x); int $name(int x) { return 2 * x; }" | "${CC:-cc}" -O1 -shared -fPIC -Wl,--build-id=none -o "$work/$name.so" -x c -
    count $? "compile $name.so"
done
address=$(nm "$work/first.so" | awk '$3 == "first" { print $1 }')

# build FILE IMAGE...: each IMAGE is NAME:NUMBER[:BYTES]; stores its first BYTES, in records of 4096 bytes
build() {
    python3 -B - "$work" "$address" "$@" <<'END'
import sys
sys.path[:0] = ["tests", "tests/reader"]
import reel_builder as b
from reel_cases import end_record, started
work, address, output = sys.argv[1], int(sys.argv[2], 16), sys.argv[3]
samples = b.Samples()
samples.layout(0, [(7, 8), (16, 8)])
side = [b.record("MODULE", 1, 1, 0, 0, 0, 0, b"", "/nowhere/libwork.so"),
        b.record("SPACE", 1000, 1, 0, 0, 101, 0, 62, 64, 1, 0, 0, 0), b.record("THREAD", 1000, 1, 1, 0, 101, 0, 0, "c"),
        b.record("MAP", 1000, 1, 0x10000, 0x10000, 0, 5, 2, 1)]
for text in sys.argv[4:]:
    name, number, *size = text.split(":")
    image = open(f"{work}/{name}.so", "rb").read()
    for at in range(0, int(size[0]) if size else len(image), 4096):
        side.append(b.record("IMAGE", 1, at, len(image), image[at:at + 4096], int(number)))
pc = 0x10000 + address
samples.sample(1, 2000, thread=1, pc=pc, layout=0, values=[0x7000, pc], regions=[b.Region(0x7000, bytes(64))])
reel = started().side(*side).samples(samples).side(end_record()).index().trailer()
open(output, "wb").write(reel.data)
END
    count $? "build $1"
}

# named NAME IMAGE...
named() {
    local name=$1
    shift
    build "$work/a.reel" "$@"
    "$tool" script -q "$work/a.reel" >"$work/out" 2>"$work/err"
    grep -q "$name+0x0" "$work/out"
    count $? "$*: $name names the frame: $(cat "$work/out")"
}
named first first:0
named first first:1
named second first:1 second:2
named third first:1 second:2 third:7
named second second:2 first:1
named first first:1 second:2:4096
named third first:1 second:2:4096 third:3
named third first:1 third:3 second:2:4096
# Data of an older image is not mixed into the newer one.
named second first:1:4096 second:2
finish
