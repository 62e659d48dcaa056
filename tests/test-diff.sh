#!/bin/bash
# `stackreel diff`: programs whose change is known, recorded; what the same program gives against itself; sums against `report`; limits.
#
#   tests/test-diff.sh     O=DIR   the object directory (build)
#
# run.sh: records
set -u
cd "$(dirname "$0")/.." || exit
O=$(realpath "${O:-build}")
stackreel=$O/stackreel
. tests/count.sh
[ -x "$stackreel" ] || { skip "$stackreel is not built"; finish; }
work=$(mktemp -d "${TMPDIR:-/var/tmp}/stackreel-diff.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

# field EXPRESSION: of what `diff --json` printed last, as d; f(NAME) is a function of it.
field() {
    python3 - "$work/out" "$1" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
def f(name):
    return next(x for x in d["functions"] if x["name"] == name)
sys.exit(0 if eval(sys.argv[2]) else "not so: %s\n%s" % (sys.argv[2], [x for x in d["functions"] if x["self"]["sure"] or x["total"]["sure"]]))
END
}
is() {
    field "$1" 2>"$work/err"
    count $? "$1"
}

# ---- captures of testdata: what is printed ------------------------------------------------

capture=testdata/x86_64/chains/clang/exception.reel
run 0 "$stackreel" diff --no-host-files "$capture" "$capture"
has out '^# old: .*samples in' '^# note: .*one capture on a side' 'hanged by more than|enough samples'
run 0 "$stackreel" diff --no-host-files --json "$capture" "$capture"
is 'd["schema"] == "stackreel-diff-1" and d["sure"] == 0 and d["old"]["samples"] == d["new"]["samples"] > 0'
is 'all(x["self"]["change"] == x["total"]["change"] == 0 for x in d["functions"])'
is 'abs(sum(x["self"]["old"] for x in d["functions"]) - 100) < 1e-6'
run 0 bash -c '"$1" diff --no-host-files --json "$2" - <"$2"' sh "$stackreel" "$capture"
is 'd["new"]["samples"] == d["old"]["samples"] > 0'
run 0 "$stackreel" diff --no-host-files --markdown --fail-if 'any>+1%' "$capture" --new "$capture" "$capture"
has out 'Within the limits'
run 2 "$stackreel" diff "$capture"
says 'OLD NEW, or OLD... --new NEW'
run 2 "$stackreel" diff "$capture" "$capture" "$capture"
run 2 "$stackreel" diff - "$capture"
says 'standard input can only be the last'
run 2 "$stackreel" diff --sandbox "$capture" "$capture"
run 2 "$stackreel" diff --fail-if 'self(x>+5%' "$capture" "$capture"
says 'fail-if wants'
run 2 "$stackreel" diff --per 0:5 "$capture" "$capture"
run 1 "$stackreel" diff "$capture" "$work/none.reel"
says 'none.reel'
run 1 "$stackreel" diff --per no-such-event "$capture" "$capture"
says 'no samples of no-such-event'

# ---- programs whose change is known ----------------------------------------------------------

if ! "$O/stackreel-record" -o "$work/try.reel" true >/dev/null 2>"$work/err"; then
    skip "nothing can be recorded here: $(head -n 1 "$work/err")"
    finish
fi

# build NAME FLAG...
build() {
    mkdir "$work/$1"
    gcc -O2 -g "${@:2}" -o "$work/$1/orders" testdata/programs/diff.c
    count $? "$1 is built"
}
# record NAME N: that many captures of it.
record() {
    local i
    for ((i = 1; i <= $2; i++)); do
        "$O/stackreel-record" -q -o "$work/$1$i.reel" "$work/$1/orders" 150 >/dev/null 2>"$work/err"
        count $? "$1 is recorded"
    done
}
build old
build slow -DPARSE=200
build inlined -DPRICE_IS_INLINED
build split -DPRICE_IS_SPLIT
record old 3
record slow 3
record inlined 3
record split 3

run 0 "$stackreel" diff --json "$work"/old{1,2,3}.reel --new "$work"/slow{1,2,3}.reel
is 'd["several_runs"] and f("parse")["self"]["sure"] and f("parse")["self"]["relative"] > 0.2'
is 'f("parse")["self"]["low"] < f("parse")["self"]["change"] < f("parse")["self"]["high"]'
# Shares: what took as long as before has less of all.
is 'f("price")["total"]["change"] < 0'
is 'abs(sum(x["self"]["new"] for x in d["functions"]) - 100) < 1e-6'
run 3 "$stackreel" diff --fail-if 'self(parse)>+5%' "$work"/old{1,2,3}.reel --new "$work"/slow{1,2,3}.reel
has out '%  parse  orders' 'by handle'
says 'self of parse: \+.* limit self\(parse\)>\+5%'
run 3 "$stackreel" diff -q --markdown --fail-if 'any>+5%' "$work"/old{1,2,3}.reel --new "$work"/slow{1,2,3}.reel
has out '^\*\*Too slow\*\*' '^\| parse \|'
run 0 "$stackreel" diff --fail-if 'self(parse)>+500%' "$work/old1.reel" "$work/slow1.reel"
run 3 "$stackreel" diff --per 150:150 --fail-if 'total(parse)>+30%' "$work"/old{1,2,3}.reel --new "$work"/slow{1,2,3}.reel
has out 'per request' ' (us|ms) '
# Half the requests on the old side, for the same time: each took longer there.
run 0 "$stackreel" diff --per 75:150 --json "$work"/old{1,2,3}.reel --new "$work"/old{1,2,3}.reel
is 'all(x["total"]["change"] < 0 for x in d["functions"] if x["total"]["old"] > 0)'
# The same function, inlined or not, in one part or two, is no other one.
run 0 "$stackreel" diff --json "$work"/old{1,2,3}.reel --new "$work"/inlined{1,2,3}.reel
is 'f("price")["total"]["new"] > 0.5 * f("price")["total"]["old"] > 5'
"$stackreel" diff --percent-limit 0 --false-rate 100 "$work"/old1.reel "$work"/inlined1.reel >"$work/out" 2>"$work/err"
has out 'price \(is inlined now\)'
run 0 "$stackreel" diff --json "$work"/old{1,2,3}.reel --new "$work"/split{1,2,3}.reel
is 'f("price")["total"]["new"] > 0.5 * f("price")["total"]["old"] and f("price_rest")["self"]["old"] == 0 < f("price_rest")["self"]["new"]'
# A program that has another name.
cp "$work/old/orders" "$work/orders-2"
"$O/stackreel-record" -q -o "$work/renamed.reel" "$work/orders-2" 150 >/dev/null 2>"$work/err"
run 0 "$stackreel" diff --json "$work/old1.reel" "$work/renamed.reel"
is 'f("parse")["module"] == "orders -> orders-2" and f("parse")["self"]["new"] > 20 and sum(x["name"] == "parse" for x in d["functions"]) == 1'
run 2 "$stackreel" diff --run-noise x "$capture" "$capture"
# A program against itself: what is called sure is wrong.
run 0 "$stackreel" diff --json "$work/old1.reel" "$work/old2.reel"
is 'd["sure"] <= 2 and d["visible"] > 0 and d["rest"] > 0'
# As much as report says.
report=$("$stackreel" report -q "$work/old1.reel" 2>/dev/null | sed -nE 's/^ *([0-9.]+) %.* parse +orders$/\1/p; s/^ *([0-9.]+) %.* parse +[^ ]*orders$/\1/p' | head -n 1)
is "abs(f('parse')['self']['old'] - ${report:-1000}) < 0.006"
finish
