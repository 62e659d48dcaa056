#!/bin/bash
# Lines and instructions: annotate, report --by line, source and address, script -F. Compares recordings of each CPU with binutils, elfutils
# and perf.
#
#   tests/cli/test-annotate.sh      O=DIR   the object directory (build)
# checks: cli/annotate
. "$(dirname "$0")/../count.sh"
export LC_ALL=C.UTF-8
[ -x "$stackreel" ] || { skip "$stackreel is not built"; finish; }

prefix() { case $1 in x86_64 | i386) ;; *) echo "$1-linux-gnu-" ;; esac }

# check CPU CAPTURE FOLDER: compare the recording, with its programs in FOLDER.
check() {
    local objdump
    objdump=$(prefix "$1")objdump
    if command -v "$objdump" >/dev/null; then
        ok "$2: instructions match $objdump, samples match report" python3 -B tests/cli/annotate_check.py code "$stackreel" "$2" "$1" --no-host-files --symfs "$3"
        has out '^[1-9][0-9]* functions, [1-9]'
    else
        skip "$objdump is not installed"
    fi
    if command -v eu-addr2line >/dev/null; then
        ok "$2: lines match eu-addr2line" python3 -B tests/cli/annotate_check.py lines "$stackreel" "$2" eu-addr2line --no-host-files --symfs "$3"
        has out '^[1-9][0-9]* lines, [1-9]'
    else
        skip "eu-addr2line is not installed"
    fi
}

# ---- other tools ------------------------------------------------------------------------------

for cpu in x86_64 aarch64 riscv64 s390x; do
    "$stackreel" import -q -o "$work/$cpu.reel" testdata/$cpu/perf/fp.data || exit 1
    check $cpu "$work/$cpu.reel" testdata/$cpu/perf
done
for cpu in aarch64 i386; do check $cpu testdata/$cpu/orders/orders.reel testdata/$cpu/orders; done

stairs=(--no-host-files --symfs testdata/x86_64/perf "$work/x86_64.reel")
if command -v perf >/dev/null && command -v objdump >/dev/null; then
    export PERF_OPTIONS='--symfs testdata/x86_64/perf'
    ok "samples per instruction match perf annotate" \
        python3 -B tests/cli/annotate_check.py perf "$stackreel" "$work/x86_64.reel" testdata/x86_64/perf/fp.data "${stairs[@]:0:3}"
    # perf annotates a file below --symfs but then shows file offsets instead of addresses. Their last digits are the same. The widths of
    # columns differ between perf's versions.
    columns() { sed -E 's/ +$//; s/^\t +[0-9a-f]*([0-9a-f]{3}) /\1 /; s/ +/ /g'; }
    perf script --no-inline -i testdata/x86_64/perf/fp.data --symfs testdata/x86_64/perf -F comm,tid,time,event,ip,sym,symoff,dso 2>/dev/null | columns >"$work/theirs"
    "$stackreel" script -q -F comm,tid,time,event,ip,sym,symoff,dso "${stairs[@]}" 2>/dev/null | columns >"$work/ours"
    diff "$work/theirs" "$work/ours" >"$work/err" && [ -s "$work/ours" ]
    count $? "script -F output matches perf script -F"
else
    skip "perf or objdump is not installed"
fi

# ---- output -------------------------------------------------------------------------------

orders=(--no-host-files --symfs testdata/aarch64/orders testdata/aarch64/orders/orders.reel)
run 0 "$stackreel" annotate checkout "${orders[@]}"
has out '^# shop::Checkout::checkout\(shop::Order const\*, int\) \(/usr/bin/orders\+0x4009b0\), aarch64$' '^# self: 59\.03 % of cpu-clock, 497\.5 ms, 497 samples of 842; 100\.00 % ' \
    '^# skid: sampled by a timer: ' '^# code: .*/orders$' '^  76\.26  4009e8: .*[│╭╰].* fadd    d1, d2, d4$' ' <\+0x7c>$' \
    'shop::Checkout::tax\(double\) const \(inlined at orders\.cc:64\):$' ' orders\.cc:58$' '^# source not found: .*orders\.cc$'
run 0 env LC_ALL=C "$stackreel" annotate checkout --bytes "${orders[@]}"
has out '^          4009c0: [^ ].*> .*$|\.-' '4009e8: .* [0-9a-f]{2} [0-9a-f]{2} [0-9a-f]{2} [0-9a-f]{2}  +fadd'
! LC_ALL=C grep -q '[^ -~]' "$work/out"
count $? "only ASCII in an ASCII locale"
run 0 "$stackreel" annotate --source --source-path testdata/programs checkout "${orders[@]}"
has out '^/.*testdata/programs/orders\.cc$|orders\.cc$' '^ +[0-9.]+ +58  +.*[a-z]' '^ +SELF % +LINE  SOURCE$'
awk '/^ +[0-9]+\.[0-9]+ +[0-9]+/ { sum += $1 } END { exit !(sum > 99.9 && sum < 100.1) }' "$work/out"
count $? "shares of lines add up to 100 %"
run 0 "$stackreel" annotate --no-source checkout "${orders[@]}"
! grep -q 'orders\.cc:58$\|source not found' "$work/out"
count $? "--no-source hides lines"
run 0 "$stackreel" annotate --intel spin "${stairs[@]}"
has out ' mov     rax, rdx$'
run 0 "$stackreel" annotate spin "${stairs[@]}"
has out ' movq    %rdx, %rax$' ' jne     0x401018 <\+0x8>$'
run 0 "$stackreel" annotate --json orders+0x4009e8 "${orders[@]}"
python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); assert d["function"].startswith("shop::Checkout::checkout("), d["function"]' "$work/out"
count $? "the function at an address"
cp "$work/out" "$work/inlined.json"
# JIT code, as recorded. report attributes 25 of the 38 samples to this function.
run 0 "$stackreel" annotate 'JS:*fib /tmp/deep.js:2:13' testdata/x86_64/jit/node-perf-basic-prof.reel
has out '^# self: 65\.79 % of cpu-clock, 252\.5 ms, 25 samples of 38$' '^# code: as recorded$' 'ret'
# The capture contains only a few bytes of code of a file that does not exist here.
run 0 "$stackreel" annotate inline_outer --no-host-files testdata/golden/s390x-inline.reel
has out '^# code is missing: 44 bytes of the function; use --module, --symfs or --debuginfod to add the file$' '^# its build-id: [0-9a-f]{40}$' '^ +2b00: +\[[0-9]+ bytes missing\]$'
run 0 "$stackreel" annotate stairs+0x1018 --no-host-files "$work/x86_64.reel"
has out '^# code is missing: 1 byte of the function: no file ' '100\.00 +1018: +\[1 byte missing\]$'

"$stackreel" annotate --json 'JS:*fib /tmp/deep.js:2:13' testdata/x86_64/jit/node-perf-basic-prof.reel >"$work/jit.json"
"$stackreel" annotate --json inline_outer --no-host-files testdata/golden/s390x-inline.reel >"$work/missing.json"
"$stackreel" annotate --json walk "${orders[@]}" >"$work/calls.json"
/usr/bin/python3 -B tests/json_schema.py annotate "$work"/{inlined,jit,missing,calls}.json >"$work/err" 2>&1
case $? in
77) skip "JSON schema: python3-jsonschema is not installed" ;;
*) count $? "the JSON conforms to docs/annotate.schema.json" ;;
esac

# ---- files that a capture names -----------------------------------------------------------------

# A program with a line in FILE, and its capture with debug information.
named() {
    printf '#line 1 "%s"\n__attribute__((noinline)) void hot(void) { volatile long x = 0; for (;;) x++; }\nint main(void) { hot(); }\n' "$1" >"$work/named.c"
    gcc -g -O1 -nostdlib -static -Wl,--build-id,-e,main -o "$work/named" "$work/named.c" && python3 -B - "$work/named" "$work/named.reel" <<'END'
import subprocess, sys
sys.path[:0] = ["tests", "tests/reader"]
import reel_builder as b
import reel_cases
program, capture = sys.argv[1:]
notes = subprocess.run(["readelf", "-nW", program], stdout=subprocess.PIPE, text=True, check=True).stdout
symbols = subprocess.run(["nm", program], stdout=subprocess.PIPE, text=True, check=True).stdout
hot = next(int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" hot"))
samples = b.Samples()
samples.layout(1, reel_cases.X86)
samples.sample(1, 1000, pc=hot, layout=1, values=[1, 0x7000, hot, 2], regions=[b.Region(0x7000, bytes(64))])
reel = b.Reel().side(
    reel_cases.capture_record(), b.record("EVENT", 1, 1, 0, 999, 0, 1, "cpu-clock", 0),
    b.record("MODULE", 1, 1, 0, 0, 0, 0, bytes.fromhex(notes.split("Build ID: ")[1].split()[0]), program), b.record("SPACE", 1, 1, 0, 1, 10, 10, 62, 64, 1, 0, 0, 0),
    b.record("THREAD", 1, 1, 1, 1, 10, 10, 0, "x"), b.record("MAP", 1, 1, 0x400000, 0x10000, 0, 5, 0, 1))
open(capture, "wb").write(reel_cases.finish(reel.samples(samples)).data)
END
}
if [ "$(uname -m)" = x86_64 ] && named "$work/secret.c"; then
    echo 'void secret_line(void);' >"$work/secret.c"
    run 0 "$stackreel" annotate --source hot "$work/named.reel"
    has out 'secret_line'
    if chown 65534 "$work/named.reel" 2>/dev/null; then
        run 0 "$stackreel" annotate --source hot "$work/named.reel"
        has out '^# source not found: .*secret.c \(the capture belongs to user 65534, .*--source-path DIR or --sandbox'
        ! grep -q secret_line "$work/out"
        count $? "another user's capture: its paths are not opened"
        run 0 "$stackreel" annotate --source --source-path "$work" hot "$work/named.reel"
        has out 'secret_line'
        run 0 "$stackreel" view --source -o "$work/named.html" "$work/named.reel"
        ! grep -q secret_line "$work/named.html"
        count $? "another user's capture: a page has no file that it names"
    else
        skip "needs root to give a file to another user"
    fi
    # A device is not opened: that alone may have effects.
    rm "$work/secret.c"
    if mknod "$work/secret.c" c 1 3 2>/dev/null && command -v strace >/dev/null && chown 0 "$work/named.reel"; then
        run 0 strace -f -o "$work/calls" "$stackreel" annotate --source hot "$work/named.reel"
        has out '^# source not found: .*secret.c: not a regular file'
        grep -q "secret.c" "$work/calls" && ! grep "secret.c" "$work/calls" | grep open | grep -v O_PATH
        count $? "a device is not opened"
    else
        skip "no device can be made, or strace is not installed"
    fi
else
    skip "a program for this test needs gcc on x86_64"
fi

# ---- selecting the function ------------------------------------------------------------------------------

run 1 "$stackreel" annotate no_such "${orders[@]}"
says "no function name with samples matches 'no_such'"
run 1 "$stackreel" annotate CHECKOUT "${orders[@]}"
says 'similar names: shop::Checkout::checkout'
run 1 "$stackreel" annotate shop "${orders[@]}"
says 'matches [0-9]+ functions: .*use MODULE:FUNCTION'
run 1 "$stackreel" annotate 'shop::Checkout::tax' "${orders[@]}"
says "is always inlined; annotate its caller: .*'shop::Checkout::checkout"
run 0 "$stackreel" annotate 'orders:shop::walk' "${orders[@]}"
has out ' bl      #0x400810 <shop::walk\(int, unsigned long\)>$'
run 1 "$stackreel" annotate 'libc.so.6:shop::walk' "${orders[@]}"
run 2 "$stackreel" annotate
says 'no function; use'
run 2 "$stackreel" annotate --source --bytes f "$work/x86_64.reel"

# ---- skid ----------------------------------------------------------------------------------------

# event TYPE NAME: annotate a capture of this event.
event() {
    python3 -B - "$work/event.reel" "$1" "$2" <<'END'
import sys
sys.path[:0] = ["tests", "tests/reader"]
import reel_builder as b
import reel_cases
samples = b.Samples()
samples.layout(1, reel_cases.X86)
samples.sample(1, 1000, pc=0x401000, layout=1, values=[1, 0x7000, 0x401000, 2], regions=[b.Region(0x7000, bytes(64))])
reel = b.Reel().side(
    reel_cases.capture_record(), b.record("EVENT", 1, int(sys.argv[2]), 0, 999, 0, 0, sys.argv[3], 0),
    b.record("MODULE", 1, 1, 0, 0, 0, 0, b"\x01" * 20, "/bin/x"), b.record("SPACE", 1, 1, 0, 1, 10, 10, 62, 64, 1, 0, 0, 0),
    b.record("THREAD", 1, 1, 1, 1, 10, 10, 0, "x"), b.record("MAP", 1, 1, 0x400000, 0x10000, 0, 5, 0, 1))
open(sys.argv[1], "wb").write(reel_cases.finish(reel.samples(samples)).data)
END
    run 0 "$stackreel" annotate x+0x1000 --no-host-files "$work/event.reel"
}

event 0 cycles:u
has out '^# skid: sampled without precise events \(such as cycles:pp\): '
event 0 cycles:pp
has out '^# skid: sampled with a precise event: addresses are exact$'
event 0 cycles:up
has out '^# skid: sampled with a precise event \(:p\): '
event 1 task-clock:u
has out '^# skid: sampled by a timer: '
event 2 sched:sched_switch
has out '^# skid: none: '
finish
