#!/bin/bash
# perf-diff.sh [--quick] - compare the shares of `stackreel diff` with `perf diff` and FlameGraph's difffolded.pl, for the same recordings
#
# perf records two builds of each program; `perf diff` prints each function's share of the old recording and its change, with two
# decimals. `stackreel diff` on the imported recordings must give the same. Stacks come from `stackreel folded` for each side, combined
# as by difffolded.pl -n. DIFFFOLDED=FILE: that program; without it, its rule (totals by stack, the old ones scaled by the new total over
# the old)
# is computed here.
#
# run.sh: records thorough
. "$(dirname "$0")/../count.sh"
O=$(realpath "${O:-build}")
mkdir "$work/old" "$work/new"

if ! perf record -q -e cpu-clock:u -g -o "$work/try.data" true >/dev/null 2>"$work/err"; then
    skip "perf cannot record here: $(head -n 1 "$work/err")"
    finish
fi

cat >"$work/compare.py" <<'END'
import collections, json, os, re, subprocess, sys
stackreel, work, program = sys.argv[1:4]

def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode()

def stem(name):
    name = re.sub(r" \[clone [^]]*\]|\.(constprop|part|isra|cold)(\.[0-9]+)*", "", name)
    return re.sub(r"#[0-9]+}", "#}", name)

def bare(name):
    """As perf prints it: without the parameters of C++'s functions and the versions of symbols."""
    name = re.sub("@.*", "", name.removesuffix(" const"))
    depth = 0
    for at in range(len(name) - 1, 0, -1):
        depth += {")": 1, "(": -1}.get(name[at], 0)
        if not depth:
            return name[:at] if name.endswith(")") else name
    return name

files = [work + "/old.reel", work + "/new.reel"]

# perf's "    46.28%    +15.17%  orders  [.] parse": one column may be empty. In libraries, where symbols have several names, all functions
# count together.
# functions together.
theirs = collections.defaultdict(lambda: [0.0, 0.0])
rows = collections.Counter()
for line in output("perf", "diff", "-q", "-s", "dso,sym", work + "/old.data", work + "/new.data").splitlines():
    match = re.match(r"^(.{10})(.{11})\s+(\S+)\s+\[\S\]\s+(.*)$", line)
    if not match:
        assert not line.strip() or line.startswith("#"), line
        continue
    old, change = (column.strip().rstrip("%") for column in match.groups()[:2])
    name = re.sub("@.*", "", stem(match[4].strip())) if match[3] == program else "[others]"
    theirs[name][0] += float(old or 0)
    # perf prints no change for functions that only the old recording has.
    theirs[name][1] += float(change or -float(old))
    rows[name] += 1
ours = collections.defaultdict(lambda: [0.0, 0.0])
for function in json.loads(output(stackreel, "diff", "--no-inline", "--json", *files))["functions"]:
    name = bare(function["name"]) if function["module"] == program else "[others]"
    ours[name][0] += function["self"]["old"]
    ours[name][1] += function["self"]["change"]

wrong = []
for name in theirs:
    if re.match("0x|0000", name):
        continue
    old, change = ours[name]
    room = 0.0051 * rows[name]  # each row is rounded
    if abs(theirs[name][0] - old) > room or abs(theirs[name][1] - change) > 2 * room:
        wrong.append((name, theirs[name], ours[name]))
missing = [name for name in ours if ours[name][0] > 0.01 and name not in theirs and name != "[no name]"]
print("perf diff: %d functions, %.2f %% of the old recording; different: %s; only here: %s"
      % (len(theirs), sum(v[0] for v in theirs.values()), wrong, missing))
assert len(theirs) > 2 and not wrong and not missing

def folded(path):
    sums = collections.Counter()
    for line in output(stackreel, "folded", "--no-inline", path).splitlines():
        stack, count = line.rsplit(" ", 1)
        # diff merges clones and recursive calls.
        names = [stem(name) for name in stack.split(";")]
        sums[";".join(name for i, name in enumerate(names) if not i or name != names[i - 1])] += int(count)
    with open(path + ".folded", "w") as file:
        file.writelines("%s %d\n" % item for item in sums.items())
    return sums

sides = [folded(path) for path in files]
totals = [sum(side.values()) for side in sides]
if os.environ.get("DIFFFOLDED"):
    theirs = {}
    for line in output("perl", os.environ["DIFFFOLDED"], "-n", *(path + ".folded" for path in files)).splitlines():
        stack, old, new = line.rsplit(" ", 2)
        theirs[stack] = float(old), float(new)
else:
    theirs = {stack: (sides[0][stack] * totals[1] / totals[0], sides[1][stack]) for stack in sides[0] | sides[1]}
ours = {}
for line in output(stackreel, "diff", "--no-inline", "--folded", *files).splitlines():
    stack, old, new = line.rsplit(" ", 2)
    ours[stack] = float(old), float(new)
named = {stack for stack in theirs if not re.search(r"\+0x|\[no name\]|\[unknown\]", stack)}
named_here = {stack for stack in ours if "[no name]" not in stack}
all_new = sum(new for _, new in ours.values())
different = [stack for stack in named & named_here
             # difffolded.pl rounds down to whole samples.
             if abs(theirs[stack][1] / totals[1] - ours[stack][1] / all_new) > 1e-6 or
             not -1e-6 < ours[stack][0] / all_new - theirs[stack][0] / totals[1] < 1.001 / totals[1]]
print("difffolded.pl: %d stacks; different: %s; only on one side: %s" % (len(named), different, named ^ named_here))
assert len(named) > 2 and not different and named == named_here
END

# compare NAME ARGUMENT...: runs the program NAME of both folders.
compare() {
    local side
    rm -f "$work"/{old,new}.reel
    for side in old new; do
        perf record -q -e cpu-clock:u -F 999 -g -o "$work/$side.data" "$work/$side/$1" "${@:2}" >/dev/null 2>"$work/err" &&
            "$stackreel" import -q -o "$work/$side.reel" "$work/$side.data" 2>>"$work/err"
        count $? "record and import $1"
    done
    echo "$1:"
    python3 "$work/compare.py" "$stackreel" "$work" "$1" 2>"$work/err"
    count $? "$1: same shares as perf and difffolded.pl"
}
gcc -O2 -g -o "$work/old/orders" testdata/programs/diff.c && gcc -O2 -g -DPARSE=150 -o "$work/new/orders" testdata/programs/diff.c
compare orders 100
g++ -O2 -g -fno-omit-frame-pointer -o "$work/old/shop" testdata/programs/orders.cc && g++ -O1 -g -fno-omit-frame-pointer -o "$work/new/shop" testdata/programs/orders.cc
compare shop 1
g++ -O2 -g -fno-omit-frame-pointer -o "$work/old/clones" testdata/programs/clones.cc &&
    g++ -O2 -g -fno-omit-frame-pointer -fno-ipa-cp -fno-ipa-sra -fno-reorder-blocks-and-partition -DEXTRA -o "$work/new/clones" testdata/programs/clones.cc
compare clones 100
finish
