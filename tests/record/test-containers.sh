#!/bin/bash
# One library at different paths in many containers. Each process's frames get names from the file at its own path, and a file shared by all
# containers is opened once.
# shellcheck disable=SC2181
. "$(dirname "$0")/../count.sh"
tool=$PWD/${O:-build}/stackreel

[ -x "$tool" ] || { skip "$tool is not built"; finish; }
[ "$(uname -m)" = x86_64 ] || { skip "needs a compiler for x86-64, like the capture's programs"; finish; }
containers=300
id=--build-id=0x00112233445566778899aabbccddeeff00112233

# The same code with a different name.
for name in real_name forged_nm; do
    echo "int $name(int x); int $name(int x) { return 2 * x; }" |
        "${CC:-cc}" -g -O1 -shared -fPIC -Wl,$id -o "$work/$name.so" -x c - || { failed=1; finish; }
done
for i in $(seq "$containers"); do
    mkdir "$work/$i"
    ln "$work/real_name.so" "$work/$i/libwork.so"
done
# The attacker's library is mapped first.
rm "$work/1/libwork.so"
cp "$work/forged_nm.so" "$work/1/libwork.so"
address=$(nm "$work/real_name.so" | awk '$3 == "real_name" { print $1 }')

python3 -B - "$work" "$containers" "$address" <<'END'
import sys
sys.path[:0] = ["tests", "tests/reader"]
import reel_builder as b
from reel_cases import end_record, started
work, n, address = sys.argv[1], int(sys.argv[2]), int(sys.argv[3], 16)
build_id = bytes.fromhex("00112233445566778899aabbccddeeff00112233")
samples = b.Samples()
samples.layout(0, [(7, 8), (16, 8)])
side = []
for i in range(1, n + 1):
    side += [b.record("MODULE", i, 1, 0, 0, 0, 0, build_id, f"{work}/{i}/libwork.so"),
             b.record("SPACE", 1000, i, 0, 0, 100 + i, 0, 62, 64, 1, 0, 0, 0),
             b.record("THREAD", 1000, i, i, 0, 100 + i, 0, 0, f"c{i}"),
             b.record("MAP", 1000, i, 0x10000, 0x10000, 0, 5, 2, i)]
    pc = 0x10000 + address
    samples.sample(i, 2000 + i, thread=i, pc=pc, layout=0, values=[0x7000, pc], regions=[b.Region(0x7000, bytes(64))])
reel = started().side(*side).samples(samples).side(end_record()).index().trailer()
open(work + "/a.reel", "wb").write(reel.data)
END

# Fewer file descriptors than containers: files must not be kept open or opened again.
(ulimit -n 100 && "$tool" script "$work/a.reel") >"$work/script" 2>"$work/err"
count $? "replay with at most 100 open files"
[ "$(grep -c 'real_name+\|real_name (' "$work/script")" = $((containers - 1)) ]
count $? "names in each container's frames: $(grep -c real_name "$work/script") of $((containers - 1))"
[ "$(grep -c forged_nm "$work/script")" = 1 ]
count $? "the attacker's frames get names from the attacker's file"
grep -A 1 '^c1 ' "$work/script" | grep -q forged_nm
count $? "... and only the attacker's frames"
[ "$(grep -c "/libwork.so)" "$work/script")" = "$containers" ]
count $? "each frame has its container's path"
(ulimit -n 100 && "$tool" info "$work/a.reel") >"$work/info" 2>"$work/err"
[ "$(grep -c '^  found ' "$work/info")" = "$containers" ]
count $? "find all files"
"$tool" report --by=module --percent-limit=0 "$work/a.reel" >"$work/report" 2>"$work/err"
[ "$(grep -c libwork.so "$work/report")" = "$containers" ]
count $? "report --by module lists each path"
# Any number of threads gives the same names, though several modules share a file.
"$tool" script -j1 "$work/a.reel" >"$work/one" 2>/dev/null
"$tool" script -j8 "$work/a.reel" >"$work/eight" 2>/dev/null
cmp -s "$work/one" "$work/eight"
count $? "same output with any number of threads"

finish
