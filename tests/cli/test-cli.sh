#!/bin/bash
# The stackreel program: each command and option, usage errors, and input files that are missing, damaged or not captures.
# tests/unit/cli/report/test_report.c compares the printed traces; this test covers the way from the file to the text.
#
#   O=DIR   the object directory (build)
# checks: cli
. "$(dirname "$0")/../count.sh"
tool=$O/stackreel
case $tool in /*) ;; *) tool=$PWD/$tool ;; esac
capture=$PWD/testdata/format/good-two-threads.reel

if [ ! -x "$tool" ] || [ ! -f "$capture" ]; then
    echo "skip: $tool or $capture does not exist"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
export LC_ALL=C.UTF-8

lines() {
    [ "$(wc -l <"$work/out")" = "$1" ]
    count $? "$1 lines, not $(wc -l <"$work/out")"
}

# ---- usage -----------------------------------------------------------------------------------

run 2 "$tool"
has err 'Usage: stackreel COMMAND'
run 0 "$tool" --help
for command in record view report annotate gdb core script folded flamegraph aggregate export sql diff info doctor dump table verify repair; do has out "^  $command +[a-z]"; done
run 0 "$tool" --version
has out '^stackreel [0-9]+\.[0-9]+\.[0-9]+$'
run 2 "$tool" no-such-command
has err "unknown command 'no-such-command'" 'Usage: stackreel COMMAND'
run 2 "$tool" help no-such-command
# Typos of one or two letters, or with two letters swapped.
for typed in reprot:report repot:report fodled:folded flamegrph:flamegraph verfy:verify xport:export tpo:top; do
    run 2 "$tool" "${typed%:*}" "$capture"
    has err "^stackreel: unknown command '${typed%:*}'; did you mean '${typed#*:}'\?$"
    ! grep -q Usage "$work/err"
    count $? "${typed%:*}: suggests a command, without the list"
done
run 2 "$tool" zz
has err "unknown command 'zz'$"
run 2 "$tool" $'\e[31mreport'
has err "unknown command '.*x1b"
for command in report gdb core script folded info doctor dump table; do
    run 0 "$tool" "$command" --help
    has out "^Usage: stackreel $command" '--output=FILE'
    run 0 "$tool" help "$command"
    run 2 "$tool" "$command" --no-such-option
    has err "stackreel $command: unrecognized option"
    run 2 "$tool" "$command" a b
    has err 'only one file is allowed'
done
for command in verify repair; do
    run 0 "$tool" "$command" --help
    has out "^Usage: stackreel $command" '--output=FILE' '--identity=KEYFILE'
    run 2 "$tool" "$command" --no-such-option
    has err "stackreel $command: unrecognized option"
    run 1 "$tool" "$command" -o "$work/out2" "$work/none.reel"
    has err '^stackreel: .*none\.reel.*No such file'
done
run 2 "$tool" verify - "$capture"
has err 'only the last capture can be standard input'
run 2 "$tool" repair "$capture"
has err 'no output file; use -o FILE'
for command in report script folded info doctor; do
    run 0 "$tool" "$command" --help
    has out '--pid=' '--tid=' '--comm=' '--cpu=' '--time=' '--event=' '--symfs=' '--debug-dir=' \
        '--module=' '--no-host-files' '--no-inline' '--no-demangle' '--min-complete=' '--quiet' \
        '--jobs=N'
    for option in --pid=x --tid=1- --cpu=1,,2 --time=1 --time=2..1 --min-complete=101 --max-frames=0 --jobs=x; do
        run 2 "$tool" "$command" "$option" "$capture"
        has err "${option%%=*}"
    done
done
for part in 0/3 4/3 1/0 1/ /2 x/2 1/2x 1/4294967296; do
    run 2 "$tool" folded --shard=$part "$capture"
    has err '^stackreel folded: --shard: invalid part'
done
run 2 "$tool" report --sort=no "$capture"
run 1 "$tool" report --by=no "$capture"
run 2 "$tool" report --percent-limit=no "$capture"
run 2 "$tool" report --tree --residency "$capture"
run 2 "$tool" report --tree --sort=self "$capture"
run 2 "$tool" folded --weight=no "$capture"
run 2 "$tool" folded --unit=no "$capture"
run 2 "$tool" table
has err 'no file'
run 2 "$tool" export "$capture"
has err 'no --format'
run 2 "$tool" sql
has err 'no capture .use FILE'
run 2 "$tool" flamegraph -o "$work/a.png" "$capture"
has err 'cannot tell the output type'
run 2 "$tool" flamegraph --format=png "$capture"
run 2 "$tool" flamegraph --width=10 --format=svg "$capture"
run 2 "$tool" flamegraph --min-share=x --format=svg "$capture"
run 2 "$tool" flamegraph --diff "$capture" --format=svg "$capture"
run 2 "$tool" flamegraph --icicle -o "$work/a.html" "$capture"
has err 'only apply to pictures'
run 2 "$tool" flamegraph --source -o "$work/a.svg" "$capture"
has err 'only applies to pages'
run 2 "$tool" aggregate
has err 'no captures; name at least one'
run 2 "$tool" aggregate -
has err 'cannot come from standard input'
for command in aggregate export sql annotate flamegraph; do
    run 0 "$tool" "$command" --help
    has out '--pid=' '--symfs=' '--min-complete=' '--jobs=N' '--output=FILE'
    for option in $("$tool" "$command" --help | grep -oE -- '--[a-z][a-z-]+' | sort -u); do
        [[ " --usage --version --help " != *" $option "* ]] || continue
        grep -qF -- "${option//-/\\-}" docs/man/stackreel.1
        count $? "docs/man/stackreel.1 describes $command's $option"
    done
done

# of LIST OPTION: the commands that docs/man/stackreel.1 names on a line after LIST are exactly those whose --help has the option.
of() {
    local command has=() named
    for command in $("$tool" --help | sed -nE 's/^  ([a-z]+) .*/\1/p'); do
        [ "$command" = record ] || ! "$tool" "$command" --help | grep -qE -- "^ +(-., +)?$2([ =[]|$)" || has+=("$command")
    done
    named=$(list=$1 awk 'index($0, ENVIRON["list"]) { on = 1 } on && match($0, /\([a-z]+(, [a-z]+)+\)/) { print substr($0, RSTART + 1, RLENGTH - 2); exit }' docs/man/stackreel.1)
    [ "$(printf '%s\n' "${has[@]}" | sort)" = "$(printf '%s\n' ${named//,/} | sort)" ]
    count $? "docs/man/stackreel.1 names the commands with $2: $named, not ${has[*]}"
}
of '.SS Sample selection' --pid
of '.SS Modules and symbols' --symfs
of '.SS Function names' --no-demangle
of '.SS Quality' --min-complete
of '.SS Speed' --jobs
of 'sandbox ", "' --sandbox
of 'The secret key for an encrypted capture' --identity
of 'shard " I/N' --shard

# top waits for a stream that begins slowly: within the file header, after it, and within the first records.
for cut in 6 48 60 200; do
    { head -c $cut "$capture"; sleep 0.5; tail -c +$((cut + 1)) "$capture"; sleep 1; } | timeout 60 "$tool" top --stdio --count=1 --delay=100ms - >"$work/out" 2>"$work/err"
    count $? "top: a stream cut after $cut bytes"
    has out '^# [0-9]+ samples of '
done

# ---- the recorder ------------------------------------------------------------------------------

mkdir "$work/bin" "$work/empty"
cp "$tool" "$work/bin/stackreel"
run 1 env PATH="$work/empty" "$work/bin/stackreel" record -- true
has err 'stackreel-record is not installed'
# shellcheck disable=SC2016 # for the script that it makes
printf '#!/bin/sh\necho "ran $0 $*"\nexit 7\n' >"$work/empty/stackreel-record"
chmod +x "$work/empty/stackreel-record"
run 7 env PATH="$work/empty:$PATH" "$work/bin/stackreel" record -F 99 -- prog --help
has out 'ran .*empty/stackreel-record -F 99 -- prog --help$'
cp "$work/empty/stackreel-record" "$work/bin/"
run 7 env PATH="$work/empty:$PATH" "$work/bin/stackreel" record
has out 'ran .*bin/stackreel-record'

# ---- files ---------------------------------------------------------------------------------------

echo "this is no capture, whatever it may be, since it is a text of more than 48 bytes" >"$work/text"
head -c 500 "$capture" >"$work/cut"
for command in report script folded info doctor; do
    run 1 "$tool" "$command" "$work/none.reel"
    has err '^stackreel: .*none\.reel.*No such file'
    run 1 "$tool" "$command" "$work/text"
    has err '^stackreel: .*(capture)'
    run 1 "$tool" "$command" "$work/cut"
    run 1 "$tool" "$command" -o "$work/none/x" "$capture"
    has err 'none/x: No such file'
    run 0 "$tool" "$command" -q -o "$work/out2" "$capture"
    lines 0
    run 0 "$tool" "$command" "$capture"
    cmp -s "$work/out" "$work/out2"
    count $? "as expected"
    run 0 "$tool" "$command" -i "$capture"
    cmp -s "$work/out" "$work/out2"
    count $? "as expected"
    if [ -e /dev/full ]; then
        run 1 "$tool" "$command" -o /dev/full "$capture"
        has err 'No space left'
    fi
done
run 2 "$tool" dump "$work/text"
run 1 "$tool" dump "$work/cut"
has err 'cut'
run 1 "$tool" table "$capture"
run 1 "$tool" table "$work/none"
(cd "$work" && cp "$capture" stackreel.reel && "$tool" folded) >"$work/out" 2>"$work/err"
last="folded of the default file"
count $? "as expected"
lines 12
"$tool" folded - <"$capture" >"$work/out" 2>"$work/err"
last="folded -"
count $? "as expected"
lines 12
# A closed pipe is not an error.
last="EPIPE"
(
    trap '' PIPE
    "$tool" script "$capture" 2>"$work/err"
    echo $? >"$work/status"
) | true
[ "$(cat "$work/status")" = 0 ] && [ ! -s "$work/err" ]
count $? "as expected"

# ---- output ---------------------------------------------------------------------------------

run 0 "$tool" report --percent-limit 0 "$capture"
has out '^# .*: host, Linux 6.1.0 x86_64, 2023-11-14 22:13:20 UTC$' '^# 12 samples of cpu-clock \(99 Hz\) in 11.0 us$' \
    '^# complete traces: 0.00 % \(module missing 100.00 %\)$' '^# lost: none$' \
    '^ +SELF +time +TOTAL +time +SAMPLES  FUNCTION +MODULE$' \
    '^ +8\.33 % +10\.1 ms +8\.33 % +10\.1 ms +1  example\+0x1100 +example$'
run 0 "$tool" report --percent-limit 50 "$capture"
has out 'more below --percent-limit 50'
for by in module source line address thread process comm; do run 0 "$tool" report --by "$by" "$capture"; done
has out '^100.00 % .* 12  example$'
run 0 "$tool" report --by thread "$capture"
has out 'example \(100\)$' 'example \(101\)$'
for sort in self total samples symbol module; do run 0 "$tool" report --sort "$sort" "$capture"; done
run 0 "$tool" report --tree "$capture"
has out '^    SELF     TOTAL    SAMPLES  FUNCTION$' '^          100.00 %         12  \[incomplete: module missing\]$' \
    '^  8\.33 %    8\.33 %          1  ├─ example\+0x1100$' '  └─ '
run 0 env LC_ALL=C "$tool" report --tree "$capture"
has out '^  8\.33 %    8\.33 %          1  \|- '
run 0 "$tool" report --residency "$capture"
has out '^8\.3% \[incomplete: module missing\];example\+0x1100$' '\[k\]$'

run 0 "$tool" folded "$capture"
lines 12
has out '^\[incomplete: module missing\];example\+0x1100 1$'
run 0 "$tool" folded --weight=time "$capture"
has out ' 10\.10101ms$'
run 0 "$tool" folded --weight=time --unit=us --no-suffix --with-comm --annotate "$capture"
has out '^example;.* 10101\.01$' '_\[k\] '

run 0 "$tool" info "$capture"
has out '^samples +12 in 11.0 us$' '^format +1\.0, complete$' ' 100.00 % +12  module missing$' '^Losses: none$' \
    '^Modules: 0 found, 1 missing' '  MISSING +12  /bin/example  0123456789abcdef$'
# The capture contains kernel function names and JIT code, so no file is missing.
run 0 "$tool" info --no-host-files testdata/golden/x86_64-jit.reel
has out '^Modules: .* 0 missing, .* with names or code in the capture$' '^  code +[0-9,]+  //anon$' '^ +note: .* the capture contains its code,'
run 1 "$tool" info --all-modules "$work/cut"
has out '^Problems of the file$' '^Losses: an unknown number of samples after [0-9.]+ [mun]?s: the file is truncated$'
run 1 "$tool" report "$work/cut"
has out '^# lost: an unknown number of samples after [0-9.]+ [mun]?s: the file is truncated$'

run 0 "$tool" script "$capture"
has out '^example +100/101 +\[001\] +1\.000001: +10101010 cpu-clock:$' "^	          401100 \[unknown\] \(/bin/example\)$" \
    '^# stop: module missing$' '\(\[kernel\.kallsyms\]\)$'
run 0 "$tool" script --ns "$capture"
has out ' 1\.000001000: '
run 0 "$tool" script -F comm,tid,ip,sym,srcline "$capture"
has out '^example +101$' '^	          401100 \[unknown\]$' '^  example\[1100\]$'
run 0 "$tool" script -F -ip,-sym,-symoff,-dso -F -time,-pid "$capture"
has out '^ +example +101 \[001\] +10101010 cpu-clock:$'
for fields in '' no comm,,tid +ip,sym ip,-sym sym symoff,ip -no; do
    run 2 "$tool" script -F "$fields" "$capture"
    has err '-F'
done

# A process of an unknown CPU: 32-bit Arm.
python3 -B - "$work/arm.reel" <<'END'
import sys
sys.path[:0] = ["tests", "tests/reader"]
import reel_builder as b
from reel_cases import end_record, started
samples = b.Samples()
samples.layout(0, [(13, 4), (15, 4)])
samples.sample(0, 2000, thread=1, pc=0x8000, layout=0, values=[0x7000, 0x8000], regions=[b.Region(0x7000, b"stack")])
reel = started().side(b.record("SPACE", 1000, 1, 0, 0, 100, 0, 40, 32, 1, 0, 0, 0), b.record("THREAD", 1000, 1, 1, 0, 100, 0, 0, "arm"))
reel.samples(samples).side(end_record()).index().trailer()
open(sys.argv[1], "wb").write(reel.data)
END
run 0 "$tool" script "$work/arm.reel"
has out '^# stop: unknown CPU$'
has err "cannot unwind programs for ELF machine 40, 32 bits"

run 0 "$tool" dump "$capture"
has out '^0@48 CAPTURE .*hostname="host"' ' SAMPLE id=0 .*regions=\[\{kind=0 '
run 0 "$tool" dump --bytes "$capture"
has out ' SAMPLE .* bytes=[0-9a-f]+'
run 0 "$tool" dump --json "$capture"
python3 -c 'import json, sys; [json.loads(line) for line in sys.stdin]' <"$work/out"
count $? "as expected"

# ---- callers ----------------------------------------------------------------------------------------------

orders=(--no-host-files --symfs testdata/aarch64/orders testdata/aarch64/orders/orders.reel)
run 0 "$tool" report --callers shop::by_value "${orders[@]}"
has out '^ 14\.13 %        119  shop::by_value\(…\)$' '^ {21}msort_with_tmp\.part\.0$' '│[ │]*[├└]─ __qsort_r$'
run 0 "$tool" report --names full --callers 'shop::by_value(…)' "${orders[@]}"
has out '^ 14\.13 %        119  shop::by_value\(void const\*, void const\*\)$'
run 0 "$tool" report --names mangled --callers by_value "${orders[@]}"
has out '^ 14\.13 %        119  _ZN4shopL8by_valueEPKvS1_$'
run 0 env LC_ALL=C "$tool" report --callers shop::by_value "${orders[@]}"
has out '^ 14\.13 %        119  shop::by_value\(void const\*, void const\*\)$'
run 2 "$tool" report --names long "${orders[@]}"
run 0 "$tool" folded --names short "${orders[@]}"
has out ';shop::rank\(…\);'
run 0 "$tool" folded "${orders[@]}"
has out ';shop::rank\(unsigned long\);'
run 0 "$tool" report --callers orders --by module "${orders[@]}"
has out '^ 99\.76 %        840  /usr/bin/orders$'
run 1 "$tool" report --callers Shop::Rank "${orders[@]}"
says "no function name matches 'Shop::Rank'; similar names: 'shop::rank\(unsigned long\)'$"
run 1 "$tool" report --callers no-such "${orders[@]}"
says "no function name matches 'no-such'$"
run 2 "$tool" report --callers '' "${orders[@]}"
run 2 "$tool" report --callers main --tree "${orders[@]}"
run 2 "$tool" report --callers main --sort self "${orders[@]}"

# ---- missing files ------------------------------------------------------------------------------------

for option in --symfs --debug-dir; do
    for command in report script folded info doctor; do
        run 1 "$tool" $command $option "$work/none" "$capture"
        says "^stackreel: $option $work/none: No such file or directory"
    done
    run 1 "$tool" report --symfs "$work" $option "$capture" "$capture"
    says "^stackreel: $option .*: Not a directory"
    run 0 "$tool" report $option "$work" "$capture"
done
# perf report's options
for some in testdata/*/*/*.reel; do break; done
for option in --children --no-children -n; do
    run 0 "$tool" report --no-host-files $option "$some"
    says "^stackreel: note: $option: "
done
for option in -g --call-graph=caller -G "-s dso"; do
    # shellcheck disable=SC2086 # words
    run 2 "$tool" report --no-host-files $option "$some"
    says "use --"
done
for data in testdata/x86_64/perf/dwarf.data testdata/s390x/perf/fp.data; do
    run 1 "$tool" report $data
    says "^stackreel: $data: a perf.data file, .*'stackreel import'"
done

# ---- filters ------------------------------------------------------------------------------------------

# samples N OPTION...: N samples remain.
samples() {
    local n=$1 got
    shift
    got=$("$tool" script "$@" "$capture" 2>&1 | grep -c 'cpu-clock:$')
    last="script $*: $got samples instead of $n"
    [ "$got" = "$n" ]
    count $? "as expected"
}

samples 12
samples 12 --pid 100
samples 0 --pid 1
samples 6 --tid 101
samples 12 --tid 100-101
samples 6 --cpu 0
samples 12 --comm example
samples 0 --comm x
samples 12 --comm 'ex*'
samples 12 --comm 'x,?xample'
samples 0 --comm 'ex*x'
samples 6 --time 0..5.5us
samples 1 --time 11us..
samples 12 --event cpu-clock
samples 12 --event 'cpu-*'
run 1 "$tool" script --event no-such-event "$capture"
has err 'no event'

# selects_none PATTERN OPTION...: the selection is an error, whose message matches PATTERN and lists the available values.
selects_none() {
    local says=$1 command
    shift
    for command in report script folded info doctor; do
        run 1 "$tool" $command "$@" "$capture"
        lines 0
        says "$says"
    done
}
selects_none '--pid selects no samples; available: 100 \(example\)$' --pid 1-99
selects_none '--tid selects no samples; available: 100 \(example\), 101 \(example\)$' --tid 1 --pid 100
selects_none '--cpu selects no samples; available: 0, 1$' --cpu 7
selects_none "--comm Exam selects no samples; available: 'example'$" --comm Exam
selects_none '--time selects no samples; the last one is 11\.[0-9]* us after the first$' --time 12us..
selects_none 'no samples match all filters' --tid 100 --time 11us..
# One valid name is enough to show its samples.
run 1 "$tool" script --comm x --comm example "$capture"
[ "$(grep -c 'cpu-clock:$' "$work/out")" = 12 ]
count $? 'samples with the valid name'
says "--comm x selects no samples; available: 'example'$"

# ---- files that match no module -------------------------------------------------------------------------

perf=testdata/x86_64/perf
ok "import a perf recording" "$tool" import -q -o "$work/stairs.reel" $perf/dwarf.data
for command in report script folded info doctor 'shrink -o /dev/null'; do
    run 1 "$tool" $command --symfs $perf --module "$tool" "$work/stairs.reel"
    says "--module $tool: no module in this capture matches"
    run 0 "$tool" $command --no-host-files --module $perf/usr/bin/stairs "$work/stairs.reel"
done

# ---- missing module data --------------------------------------------------------------------------------------

orders=testdata/aarch64/orders
run 0 "$tool" doctor --no-host-files $orders/orders.reel
has out '^ +99\.76 % +99\.76 % +99\.76 % +99\.76 %  file +/usr/bin/orders  290dadf' '^ +no file for /usr/bin/orders' '^3,642 frames: 99\.26 % without a name'
has out '^  file$' '^      copy it from its host'
# report's hint shows the same share.
run 0 "$tool" report --no-pager --no-host-files $orders/orders.reel
has out '^# 99\.26 % of the frames have no name \(see .stackreel doctor'
# libc is linked statically, and was built without -g.
run 0 "$tool" doctor --no-host-files --symfs $orders $orders/orders.reel
has out '^ +99\.76 % +[0-9.]+ %  some lines +/usr/bin/orders' '^  some lines$' '^1 module complete \(see --all\)$'
run 0 "$tool" report --no-pager --no-host-files --symfs $orders $orders/orders.reel
! grep -q 'have no name' "$work/out"
count $? 'every frame has a name'
mkdir -p "$work/symfs/usr/bin"
strip --strip-all -o "$work/symfs/usr/bin/stairs" $perf/usr/bin/stairs
run 0 "$tool" doctor --all --no-host-files --symfs "$work/symfs" "$work/stairs.reel"
has out ' 100\.00 % +100\.00 % +100\.00 %  symbols +/usr/bin/stairs'
run 0 "$tool" report --no-host-files --symfs "$work/symfs" "$work/stairs.reel"
has out '^# 100\.00 % of the frames have no name \(see .stackreel doctor.\)$'
run 0 "$tool" doctor --all --no-host-files --symfs "$work/symfs" "$work/stairs.reel"
# Servers cannot be asked for a module without a build-id; tests/names/test-debuginfod.sh has a module with one.
! grep -q -e --debuginfod "$work/out"
count $? "doctor suggests --debuginfod only for known build-ids"
# info reads no debug information, so it reports damage of that with --full only; doctor does at once.
objcopy --compress-debug-sections=zlib $perf/usr/bin/stairs "$work/symfs/usr/bin/stairs"
at=$(readelf -SW "$work/symfs/usr/bin/stairs" | sed -nE 's/.* \.debug_info +PROGBITS +[0-9a-f]+ +([0-9a-f]+) .*/\1/p')
printf XXXXXXXX | dd of="$work/symfs/usr/bin/stairs" bs=1 seek=$((0x$at + 60)) conv=notrunc status=none
for command in 'info --full' doctor; do
    run 0 "$tool" $command --no-host-files --symfs "$work/symfs" "$work/stairs.reel"
    has out 'section \.debug_info: damaged zlib data'
done
run 0 "$tool" info --no-host-files --symfs "$work/symfs" "$work/stairs.reel"
! grep -q damaged "$work/out"
count $? "info does not read debug information"

# ---- quality --------------------------------------------------------------------------------------------

for command in report script folded info doctor; do
    run 3 "$tool" "$command" --min-complete 50 "$capture"
    has err '0\.00 % of 12 traces are complete'
    run 0 "$tool" "$command" --min-complete 0 "$capture"
    run 1 "$tool" "$command" --min-complete 1 --pid 1 "$capture"
done

# ---- input of other tools ------------------------------------------------------------------------------

# The regular expressions of FlameGraph's stackcollapse-perf.pl (events, stack lines) must match every line.
"$tool" script "$capture" 2>"$work/err" | python3 -c '
import re, sys
events = stacks = 0
for line in sys.stdin:
    line = line.rstrip("\n")
    if line.startswith("#") or not line:
        continue
    if re.match(r"(\S+\s*?\S*?)\s+(\d+)/(\d+)", line):
        events += 1
    elif re.match(r"\s*(\w+)\s*(.+) \((\S*)\)", line):
        stacks += 1
    else:
        sys.exit("not understood: " + line)
sys.exit(0 if (events, stacks) == (12, 18) else "%d events, %d lines" % (events, stacks))'
last="script for stackcollapse-perf.pl"
count $? "as expected"

# ---- unwind tables ------------------------------------------------------------------------------------------

run 0 "$tool" table "$tool"
has out '^# .*stackreel: ' '^# BEGIN +END +CFA +RA +FP .*FUNCTION$' '^[0-9a-f]{16} [0-9a-f]{16} [a-z]+[0-9]*\+[0-9]+ '

# Of a capture of several programs, they are shown before the functions.
python3 tests/page/make_captures.py waits "$work/waits.reel"
run 0 "$tool" report "$work/waits.reel"
has out '^# event cpu-clock: ' '^# programs: worker-1 50\.00 %, worker-2 50\.00 % \(--by process lists them\)$'
run 0 "$tool" report --pid 1001 "$work/waits.reel"
! grep '^# programs' "$work/out"
count $? "one program is not listed"
run 0 "$tool" report --by comm "$work/waits.reel"
! grep '^# programs' "$work/out"
count $? "groups have rows already"
python3 tests/page/make_captures.py many "$work/many.reel" 600 2
run 0 "$tool" report "$work/many.reel"
has out '^# programs: (worker-[0-9]+ 0\.33 %, ){6}294 more 98\.00 % '

finish
