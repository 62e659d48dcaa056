#!/bin/bash
# diff.sh [--quick] - how often `stackreel diff` reports false changes, and how often it finds real ones
#
# Records programs many times, and compares recordings with others of the same program, with default options:
# at most --false-rate (5 %) of these comparisons may report a significant change, or fail for any>+2%. This includes changes that are too
# small to be shown. Comparisons that share a recording are not independent: one odd recording causes many alarms with one capture on a
# side.
# So a jackknife, leaving out each recording in turn, estimates the standard error of the rate, and the rate may exceed 5 % by at most two
# standard errors. Then compares our program with a loop of n with builds with 1.03 n to 1.3 n, recorded alternately. The other load
# of the machine is part of the test. --quick: fewer recordings.
#
# run.sh: records thorough
. "$(dirname "$0")/../count.sh"
O=$(realpath "${O:-build}")
runs=48
[ "${1-}" != --quick ] || runs=16

if ! "$O/stackreel-record" -o "$work/try.reel" true >/dev/null 2>"$work/err"; then
    skip "cannot record here: $(head -n 1 "$work/err")"
    finish
fi
for parse in 100 103 105 110 130; do
    gcc -O2 -g -DPARSE=$parse -o "$work/orders$parse" testdata/programs/diff.c || exit 1
done
cat >"$work/many.py" <<'END'
import json, re
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
for i in range(200):
    fib(17)
    text = json.dumps([{"a": i, "b": list(range(50))} for _ in range(100)])
    json.loads(text)
    re.findall(r"(\d+), (\d+)", text)
    sorted(text.split(","))
END

record() {
    "$O/stackreel-record" -q -o "$work/$1.reel" "${@:2}" >/dev/null 2>&1 || echo "FAILED: cannot record $1"
}
# Alternate between programs, so that changes of the machine's load do not look like changes of a program.
for ((i = 0; i < runs; i++)); do
    record c$i "$work/orders100" 200
    record python$i python3 "$work/many.py"
    [ $i -lt 10 ] || continue
    for parse in 103 105 110 130; do record $parse-$i "$work/orders$parse" 200; done
done

cat >"$work/compare.py" <<'END'
import itertools, json, random, subprocess, sys
from concurrent.futures import ThreadPoolExecutor
program, work, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
random.seed(1)

def file(name):
    return "%s/%s.reel" % (work, name)

def compare(pair):
    old, new = pair
    done = subprocess.run([program, "diff", "-q", "-j1", "--json", "--fail-if", "any>+2%", *map(file, old), "--new", *map(file, new)],
                          stdout=subprocess.PIPE)
    assert done.returncode in (0, 3), done.returncode
    result = json.loads(done.stdout)
    assert (done.returncode == 3) == bool(result["exceeded"])
    return result

def all_of(pairs):
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(compare, pairs))

def pairs_of(name, size):
    if size == 1:
        return [((name + str(a),), (name + str(b),)) for a, b in itertools.combinations(range(runs), 2)]
    drawn = [random.sample(range(runs), 2 * size) for _ in range(5 * runs)]
    return [([name + str(i) for i in d[:size]], [name + str(i) for i in d[size:]]) for d in drawn]

passed = failed = 0
def check(good, text):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print("%s%s" % ("" if good else "FAILED: ", text))

def rate_of(alarms):
    return sum(alarms) / len(alarms)

def error_of(pairs, alarms):
    """The standard error of their rate: of each recording, what the rate is without those that it is in."""
    names = sorted({name for old, new in pairs for name in (*old, *new)})
    rates = [rate_of([alarm for (old, new), alarm in zip(pairs, alarms) if name not in old and name not in new] or [0]) for name in names]
    mean = sum(rates) / len(rates)
    return ((len(rates) - 1) / len(rates) * sum((rate - mean) ** 2 for rate in rates)) ** 0.5

n_all = alarms_all = failures_all = 0
for name in ("c", "python"):
    for size in (1, 4):
        pairs = pairs_of(name, size)
        results = all_of(pairs)
        alarms = [r["sure"] > 0 for r in results]
        failures = sum(bool(r["exceeded"]) for r in results)
        n_all, alarms_all, failures_all = n_all + len(results), alarms_all + sum(alarms), failures_all + failures
        error = error_of(pairs, alarms)
        check(rate_of(alarms) <= 0.05 + 2 * error, "%s, %d a side, against itself: %d of %d comparisons call something sure: %.2f %%, +- %.2f %%; %d fail for any>+2%%; %.0f values in each"
              % (name, size, sum(alarms), len(results), 100 * rate_of(alarms), 200 * error, failures, sum(r["tested"] for r in results) / len(results)))
check(alarms_all <= 0.05 * n_all, "against itself: %d of %d, %.2f %%; %d fail for any>+2%%, %.2f %%"
      % (alarms_all, n_all, 100 * alarms_all / n_all, failures_all, 100 * failures_all / n_all))

def found(result):
    parse = next(f for f in result["functions"] if f["name"] == "parse")["self"]
    return parse["sure"] and parse["change"] > 0

for parse in (103, 105, 110, 130):
    share = []
    for size in (1, 5):
        old = [["c%d" % i for i in range(at, at + size)] for at in range(0, 11 - size, size)]
        new = [["%d-%d" % (parse, i) for i in range(at, at + size)] for at in range(0, 11 - size, size)]
        results = all_of(list(itertools.product(old, new)))
        share.append((size, sum(map(found, results)), len(results)))
    print("n -> %.2f n: " % (parse / 100) + ", ".join("%d a side: found in %d of %d" % s for s in share))
    if parse == 130:
        # A change from 46 % by 6.5, with about 750 samples on each side, whose standard deviation is 2.6, plus the assumed noise of runs.
        check(share[0][1] >= 0.6 * share[0][2] and share[1][1] == share[1][2], "a change by 30 % is seen in most comparisons of two captures, and in all of ten")
print("%d passed, %d failed, 0 skipped" % (passed, failed))
sys.exit(failed != 0)
END
python3 "$work/compare.py" "$O/stackreel" "$work" $runs
