#!/bin/bash
# `stackreel diff`: recorded programs with a known change; a program compared with itself; sums compared with `report`; limits.
#
#   tests/cli/test-diff.sh     O=DIR   the object directory (build)
. "$(dirname "$0")/../count.sh"
O=$(realpath "${O:-build}")
export LC_ALL=C.UTF-8
[ -x "$stackreel" ] || { skip "$stackreel is not built"; finish; }

# field EXPRESSION: evaluates the expression on d, the last output of `diff --json`; f(NAME) is a function's entry.
field() {
    python3 - "$work/out" "$1" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
def f(name):
    return next(x for x in d["functions"] if x["name"] == name)
sys.exit(0 if eval(sys.argv[2]) else "not so: %s\n%s" % (sys.argv[2], [x for x in d["functions"] if x["self"]["sure"] or x["total"]["sure"]]))
END
}
# is_valid: whether the output conforms to its schema.
is_valid() {
    [ -n "$has_schema" ] || return
    /usr/bin/python3 -B tests/json_schema.py diff "$work/out" >"$work/err"
    count $? "the JSON conforms to its schema"
}
has_schema=yes
if ! /usr/bin/python3 -c 'from jsonschema import Draft202012Validator' 2>/dev/null; then
    has_schema=
    skip "JSON schema: python3-jsonschema is not installed"
fi
is() {
    field "$1" 2>"$work/err"
    count $? "$1"
}

# ---- output for captures in testdata ------------------------------------------------

capture=testdata/x86_64/chains/clang/exception.reel
run 0 "$stackreel" diff --no-host-files "$capture" "$capture"
has out '^# old: .*samples in' '^# note: .*a single capture on a side' '^All changes are below|Too few samples'
# Distributions: the medians, by an ASCII histogram each on one scale.
for side in before after; do python3 tests/page/make_captures.py $side "$work/$side.reel"; done
run 0 env LC_ALL=C "$stackreel" diff --distributions "$work/before.reel" "$work/after.reel"
has out '^ +old  @ {39}  median +0\.00 % of 27 blocks of time$' '^ +old  .{0,20}[:=*@].{19,39}  median +19\.33 % of 27 blocks of time$' '^ +new  ( {16}).{24}  median +38\.61 % of 27 blocks of time$' '^ +14\.67 +45\.64 %$'
run 0 env LC_ALL=C.UTF-8 "$stackreel" diff --distributions "$work/before.reel" "$work/before.reel" --new "$work/after.reel"
has out '^ +old  .*█  median +32\.05 % of 2 captures$'
run 2 "$stackreel" diff --distributions --json "$work/before.reel" "$work/after.reel"
# --per OLD:NEW is the work of one capture, however many captures a side has.
for olds in 1 3; do
    mapfile -t captures < <(yes "$work/before.reel" | head -n $olds)
    run 0 "$stackreel" diff --per 60:60 --json "${captures[@]}" --new "$work/after.reel"
    is 'd["unit"] == "ms" and 58 < f("serve")["total"]["old"] < 62 and abs(d["old"]["base"] - 60 * len(d["old"]["captures"])) < 1e-6'
done
# One function takes more: the shares of the others fall, and these rows are last.
python3 tests/page/make_captures.py slower "$work/slower.reel"
run 0 "$stackreel" diff "$work/before.reel" "$work/slower.reel"
has out '^Likely cause: scan, self \+22\.80 %$' ' scan  ' '^ +\+20\.47 % +so total of parse$' '^ +\+2\.62 % +so total of serve$' ' (write|render) \(perhaps only its share: others take more\)'
ok "what is only a share is listed last" awk '/only its share/ { seen = 1 } /%  [a-z]/ && !/only its share/ && seen { exit 1 } /^Significant/ { seen = 0 }' "$work/out"
run 0 "$stackreel" diff --json "$work/before.reel" "$work/slower.reel"
is 'all("share_only" in f(name)["self"] for name in ("write", "render")) and "share_only" not in f("scan")["self"]'
is 'd["cause"] == f("parse")["total"]["cause"] == f("serve")["total"]["cause"] == {"name": "scan", "module": "[kernel]", "part": "self"} and "cause" not in f("store")["total"]'
is_valid
run 0 "$stackreel" diff --json "$work/before.reel" "$work/after.reel"
is 'not any("share_only" in f(name)["self"] for name in ("scan", "write", "copy", "find"))'
run 0 "$stackreel" diff --per second "$work/before.reel" "$work/slower.reel"
! grep 'only its share' "$work/out"
count $? "only shares can change so"
run 0 "$stackreel" diff --markdown "$work/before.reel" "$work/slower.reel"
has out '^Likely cause: <code>scan</code>, self \+22\.80 %$' '^\| <code>scan</code> .*; so total of <code>parse</code> \+20\.47 %, <code>serve</code> \+2\.62 % \|$'
# A change that is spread over several callees is the caller's. A circle of calls has one cause.
for side in logged calls calls-back; do python3 tests/page/make_captures.py $side "$work/$side.reel"; done
run 0 "$stackreel" diff "$work/before.reel" "$work/logged.reel"
has out '^Likely cause: log, total \+'
run 0 "$stackreel" diff --json "$work/calls.reel" "$work/calls-back.reel"
is 'f("even")["total"]["sure"] and f("odd")["total"]["sure"] and ("cause" in f("even")["total"]) != ("cause" in f("odd")["total"])'
# Both sides recorded in turn, and one after the other.
for i in 1 2; do python3 tests/page/make_captures.py before "$work/turn$i.reel" $((1700000000 + i))000000000; done
run 0 "$stackreel" diff "$work/before.reel" "$work/turn2.reel" --new "$work/turn1.reel" "$work/turn1.reel"
! grep 'older than' "$work/out"
count $? "no note on sides recorded in turn"
run 0 "$stackreel" diff "$work/turn1.reel" "$work/turn2.reel" --new "$work/before.reel" "$work/before.reel"
has out '^# note: all captures of one side are older than those of the other: '
# A noise bound larger than every change suppresses all changes.
run 0 "$stackreel" diff --no-host-files --run-noise 100 "$capture" "$capture"
has out '^Too little data to state the smallest detectable change; record longer'
run 0 "$stackreel" diff --no-host-files --run-noise 100 --json "$capture" "$capture"
is 'd["visible"] is None and d["rest"] > 0'
run 0 "$stackreel" diff --no-host-files --json "$capture" "$capture"
is 'd["schema"] == "stackreel-diff-1" and d["sure"] == 0 and d["old"]["samples"] == d["new"]["samples"] > 0'
is 'all(x["self"]["change"] == x["total"]["change"] == 0 for x in d["functions"])'
is 'abs(sum(x["self"]["old"] for x in d["functions"]) - 100) < 1e-6'
is_valid
run 0 bash -c '"$1" diff --no-host-files --json "$2" - <"$2"' sh "$stackreel" "$capture"
is 'd["new"]["samples"] == d["old"]["samples"] > 0'
run 0 "$stackreel" diff --no-host-files --markdown --fail-if 'any>+1%' "$capture" --new "$capture" "$capture"
has out '\*\*Within the limits\*\*'
run 2 "$stackreel" diff "$capture"
says 'OLD NEW, or OLD... --new NEW'
run 2 "$stackreel" diff "$capture" "$capture" "$capture"
run 2 "$stackreel" diff - "$capture"
says 'only the last capture can be standard input'
run 2 "$stackreel" diff --sandbox "$capture" "$capture"
run 2 "$stackreel" diff --tree --json "$capture" "$capture"
says 'exclude each other'
run 2 "$stackreel" diff --event cpu-clock --per cpu-clock "$capture" "$capture"
says 'name the same event'
# A capture compared with itself: --folded has the stacks of `folded`, with the same number twice. The tree shows no significant change, and
# no colour, since the output is not a terminal.
orders=(--no-host-files --symfs testdata/aarch64/orders testdata/aarch64/orders/orders.reel)
run 0 "$stackreel" diff --folded "${orders[@]}" "${orders[3]}"
"$stackreel" folded "${orders[@]}" >"$work/others" 2>/dev/null
python3 - "$work/out" "$work/others" <<'END' 2>"$work/err"
import collections, itertools, re, sys
ours, others = collections.Counter(), collections.Counter()
for line in open(sys.argv[1]):
    stack, old, new = line.rstrip("\n").rsplit(" ", 2)
    assert old == new
    ours[stack] += int(new)
for line in open(sys.argv[2]):
    stack, count = line.rstrip("\n").rsplit(" ", 1)
    names = re.sub(r" \[clone [^]]*\]|\.part\.[0-9]+", "", stack).split(";")
    others[";".join(name for name, _ in itertools.groupby(names))] += int(count)
assert set(ours) == set(others), set(ours) ^ set(others)
# At 999 Hz, a sample is 1001001 ns.
assert all(ours[stack] == others[stack] * 1001001 for stack in ours), (ours, others)
END
count $? "same stacks and numbers as folded"
run 0 "$stackreel" diff --tree --percent-limit 0 "${orders[@]}" "${orders[3]}"
has out '[0-9] -> +[0-9.]+ % +\+0\.00    '
! grep -q ' \*  \|'$'\033' "$work/out"
count $? "no significant changes, and no colours"
run 2 "$stackreel" diff --fail-if 'self(x>+5%' "$capture" "$capture"
says 'fail-if: invalid limit'
run 2 "$stackreel" diff --per 0:5 "$capture" "$capture"
run 1 "$stackreel" diff "$capture" "$work/none.reel"
says 'none.reel'
run 1 "$stackreel" diff --per no-such-event "$capture" "$capture"
says 'no samples of no-such-event'

# ---- programs with a known change ----------------------------------------------------------

. tests/cli/diff_programs.sh
build='gcc -O2 testdata/programs/diff.c'
record old 3 100 "$build"
record slow 3 100 "$build -DPARSE=200"
record inlined 1 100 "$build -DPRICE_IS_INLINED"
record split 1 100 "$build -DPRICE_IS_SPLIT"

run 0 "$stackreel" diff --json "$work"/old{1,2,3}.reel --new "$work"/slow{1,2,3}.reel
is 'd["several_runs"] and f("parse")["self"]["sure"] and f("parse")["self"]["relative"] > 0.2'
is 'f("parse")["self"]["low"] < f("parse")["self"]["change"] < f("parse")["self"]["high"]'
is '[c["name"] for c in f("parse")["self"]["callers"]] == ["handle"] and abs(f("parse")["self"]["callers"][0]["change"] - f("parse")["self"]["change"]) < 0.1'
is_valid
# Shares: functions with unchanged time have a smaller share of the longer run.
is 'f("price")["total"]["change"] < 0'
# All but samples without frames: of a process that exits, one in 662.
is '99 < sum(x["self"]["new"] for x in d["functions"]) < 100 + 1e-6'
run 3 "$stackreel" diff --fail-if 'self(parse)>+5%' "$work"/old{1,2,3}.reel --new "$work"/slow{1,2,3}.reel
has out '%  parse  orders' '^ .*%  *by handle$'
says 'self of parse: \+.* limit self\(parse\)>\+5%'
run 3 "$stackreel" diff -q --markdown --fail-if 'any>+5%' "$work"/old{1,2,3}.reel --new "$work"/slow{1,2,3}.reel
has out '^\*\*Outside the limits\*\*' '^\| <code>parse</code> \|.*\| <code>handle</code> \+'
run 0 "$stackreel" diff --fail-if 'self(parse)>+500%' "$work/old1.reel" "$work/slow1.reel"
# The tree shows the same values and significant changes. --folded has them in ns, scaled to the new side's total. Both are compared for the
# path main;handle;parse alone: in a few samples, parse can be elsewhere, for example at the root of an incomplete trace.
run 0 "$stackreel" diff --tree "$work"/old{1,2,3}.reel --new "$work"/slow{1,2,3}.reel
has out '[0-9] % +\+[0-9.]+ \*  [ │├└─]*parse$' '^# .*\*: significant'
tree=$(sed -nE 's|^ *([0-9.]+) -> +([0-9.]+) % +([-+0-9.]+) .  [ │├└─]*─ parse$|\1 \2 \3|p' "$work/out" | head -n 1)
run 0 "$stackreel" diff --folded "$work"/old{1,2,3}.reel --new "$work"/slow{1,2,3}.reel
has out ';main;handle;parse [0-9]+ [0-9]+$'
folded=$(awk '{ old += $(NF - 1); new += $NF } /;main;handle;parse [0-9]+ [0-9]+$/ { o += $(NF - 1); n += $NF }
    END { printf "%.2f %.2f %+.2f", 100 * o / old, 100 * n / new, 100 * n / new - 100 * o / old }' "$work/out")
# Rounding to whole ns can change the last digit.
paste -d ' ' <(echo "$tree") <(echo "$folded") | awk '{ for (i = 1; i <= 3; i++) { d = $i - $(i + 3); if (d > 0.0101 || d < -0.0101) exit 1 } exit NF != 6 }'
count $? "parse in the tree ($tree) and in stacks ($folded)"
run 3 "$stackreel" diff --tree --fail-if 'total(parse)>+5%' "$work"/old{1,2,3}.reel --new "$work"/slow{1,2,3}.reel
run 3 "$stackreel" diff --per 150:150 --fail-if 'total(parse)>+30%' "$work"/old{1,2,3}.reel --new "$work"/slow{1,2,3}.reel
has out 'per request' ' (us|ms) '
# The old side served half the requests in the same time, so each took longer there.
run 0 "$stackreel" diff --per 75:150 --json "$work"/old{1,2,3}.reel --new "$work"/old{1,2,3}.reel
is 'all(x["total"]["change"] < 0 for x in d["functions"] if x["total"]["old"] > 0)'
# A function is matched whether it is inlined or not, in one part or two.
run 0 "$stackreel" diff --json "$work/old1.reel" "$work/inlined1.reel"
is 'f("price")["total"]["new"] > 0.5 * f("price")["total"]["old"] > 5 and f("price")["inlined"] == {"old": 0, "new": 1}'
"$stackreel" diff --percent-limit 0 --false-rate 100 "$work"/old1.reel "$work"/inlined1.reel >"$work/out" 2>"$work/err"
has out 'price \(now inlined\)'
"$stackreel" diff --percent-limit 0 --false-rate 100 "$work"/inlined1.reel "$work"/old1.reel >"$work/out" 2>"$work/err"
has out 'price \(was inlined\)'
"$stackreel" diff --no-inline --percent-limit 0 --false-rate 100 "$work"/old1.reel "$work"/inlined1.reel >"$work/out" 2>"$work/err"
has out 'price \(not in new, or inlined there: no debug information\)'
run 0 "$stackreel" diff --json "$work/old1.reel" "$work/split1.reel"
is 'f("price")["total"]["new"] > 0.5 * f("price")["total"]["old"] and f("price_rest")["self"]["old"] == 0 < f("price_rest")["self"]["new"]'
# A renamed program.
capture diff-renamed "$build -g -o \$dir/orders-2" "" "\$dir/orders-2 100" || finish
cp "$dir/a.reel" "$work/renamed.reel"
run 0 "$stackreel" diff --json "$work/old1.reel" "$work/renamed.reel"
is 'f("parse")["module"] == "orders -> orders-2" and f("parse")["self"]["new"] > 20 and sum(x["name"] == "parse" for x in d["functions"]) == 1'
run 0 "$stackreel" diff --tree --percent-limit 5 "$work/old1.reel" "$work/renamed.reel"
[ "$(grep -c ' parse$' "$work/out")" = 1 ] && [ "$(grep -c ' handle$' "$work/out")" = 1 ]
count $? "paths of a renamed program are merged: $(cat "$work/out")"
run 2 "$stackreel" diff --run-noise x "$capture" "$capture"
# A program against itself: every change called significant is wrong.
run 0 "$stackreel" diff --json "$work/old1.reel" "$work/old2.reel"
is 'd["sure"] <= 2 and d["visible"] > 0 and d["rest"] > 0'
# The same share as in report.
report=$("$stackreel" report -q "$work/old1.reel" 2>/dev/null | sed -nE 's/^ *([0-9.]+) %.* parse +orders$/\1/p; s/^ *([0-9.]+) %.* parse +[^ ]*orders$/\1/p' | head -n 1)
is "abs(f('parse')['self']['old'] - ${report:-1000}) < 0.006"

# ---- measured by a different event -------------------------------------------------------------------

record faults 1 30 "$build" "-e page-faults,cpu-clock"
run 0 "$stackreel" diff --json --per page-faults "$work/faults1.reel" "$work/faults1.reel"
is 'd["event"] == "cpu-clock" and d["per_event"] == "page-faults" and d["measure"] == "per count"'
is_valid
run 0 "$stackreel" diff --json --event page-faults --per cpu-clock "$work/faults1.reel" "$work/faults1.reel"
is 'd["event"] == "page-faults" and d["per_event"] == "cpu-clock" and d["old"]["base"] > 1e6'
finish
