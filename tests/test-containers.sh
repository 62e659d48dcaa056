#!/bin/bash
# One library under the paths of many containers: each process's frames have the names of the file under its own path, and a file that is
# the same one for all of them is opened once.
# shellcheck disable=SC2181
set -u
cd "$(dirname "$0")/.." || exit
tool=$PWD/${O:-build}/stackreel
. tests/count.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

[ -x "$tool" ] || { skip "$tool is not built"; finish; }
[ "$(uname -m)" = x86_64 ] || { skip "the capture is of x86-64 programs, which the compiler here does not make"; finish; }
containers=300
id=--build-id=0x00112233445566778899aabbccddeeff00112233

# The same code, and another name.
for name in real_name forged_nm; do
    echo "int $name(int x); int $name(int x) { return 2 * x; }" |
        "${CC:-cc}" -g -O1 -shared -fPIC -Wl,$id -o "$work/$name.so" -x c - || { failed=1; finish; }
done
for i in $(seq "$containers"); do
    mkdir "$work/$i"
    ln "$work/real_name.so" "$work/$i/libwork.so"
done
# The first one that is mapped is the attacker's.
rm "$work/1/libwork.so"
cp "$work/forged_nm.so" "$work/1/libwork.so"
address=$(nm "$work/real_name.so" | awk '$3 == "real_name" { print $1 }')

python3 -B - "$work" "$containers" "$address" <<'END'
import sys
sys.path.insert(0, "tests")
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

# With fewer files than containers: what was found once is not opened again.
(ulimit -n 100 && "$tool" script "$work/a.reel") >"$work/script" 2>"$work/err"
count $? "it is replayed with 100 open files"
[ "$(grep -c 'real_name+\|real_name (' "$work/script")" = $((containers - 1)) ]
count $? "each container's frames are named: $(grep -c real_name "$work/script") of $((containers - 1))"
[ "$(grep -c forged_nm "$work/script")" = 1 ]
count $? "the attacker's are named by the attacker's file"
grep -A 1 '^c1 ' "$work/script" | grep -q forged_nm
count $? "... and only these"
[ "$(grep -c "/libwork.so)" "$work/script")" = "$containers" ]
count $? "each frame has its own path"
(ulimit -n 100 && "$tool" info "$work/a.reel") >"$work/info" 2>"$work/err"
[ "$(grep -c '^  found ' "$work/info")" = "$containers" ]
count $? "all files are found"
"$tool" report --by=module --percent-limit=0 "$work/a.reel" >"$work/report" 2>"$work/err"
[ "$(grep -c libwork.so "$work/report")" = "$containers" ]
count $? "a report by module has each of them"
# Any number of threads: names are one module's at a time, though several share them.
"$tool" script -j1 "$work/a.reel" >"$work/one" 2>/dev/null
"$tool" script -j8 "$work/a.reel" >"$work/eight" 2>/dev/null
cmp -s "$work/one" "$work/eight"
count $? "the same with any number of threads"

finish
