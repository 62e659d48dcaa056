"""off_cpu_check.py LOOKS WAITS.OUT CAPTURE.CSV: compares the sums of each thread's samples with what tests/programs/waits.c and the kernel's
schedstat say. Prints a line for each difference above the tolerances, which depend on how many looks there were per second."""
import collections
import csv
import sys


# Shares of the wall time, by the number of looks in it. Looks are random: the standard deviation of a state that a thread has half of the
# time, in short waits, is 2 % with 600 looks. Six of them, so that the test does not fail by chance.
def states(looks):
    return max(0.12, 6 * 0.5 / looks**0.5)


# Long waits are found by each look; at most an interval between looks is missing at either end.
LONG = 0.02
# A thread that wakes 4,000 times per second.  Interrupts take up to 40 us each in a virtual machine, which count as neither. And the
# kernel wakes it with the looking process if its timer would expire within its slack (50 us): it is on another CPU then, and seems to run.
SHORT = 0.4

sums = collections.defaultdict(collections.Counter)
unplaced = collections.Counter()
with open(sys.argv[3], newline="") as file:
    for row in csv.DictReader(file):
        tid, weight = int(row["tid"]), int(row["weight"])
        sums[tid][row["state"]] += weight
        if row["state"] != "running" and row["comm"] not in row["stack"].split(";"):
            unplaced[tid] += weight

wrong = 0


def check(name, what, found, low, high, wall):
    global wrong
    if not low <= found / wall <= high:
        wrong += 1
        print(f"{name}: {what}: {found / 1e6:.1f} ms instead of {low * wall / 1e6:.1f} to {high * wall / 1e6:.1f} of {wall / 1e6:.1f}")


with open(sys.argv[2]) as file:
    for line in file:
        name, *numbers = line.split()
        tid, wall, cpu, delay, *_ = map(int, numbers)
        found, rate = sums[tid], int(sys.argv[1])
        cpu, delay, tolerance = cpu / wall, delay / wall, states(rate * wall / 1e9)
        blocked = 1 - cpu - delay
        # Of a thread that waits for a CPU after a sleep, a busy host does not say for certain when it was woken: looks take some of that for
        # the sleep, and schedstat took a sleep of four seconds for such a wait. The run delay is the most that may be unknown.
        unknown = delay if rate < 400 and name != "busy" else 0
        short = SHORT if name == "short_sleeps" else tolerance
        check(name, "all", sum(found.values()), 1 - short, 1 + short, wall)
        check(name, "running", found["running"], cpu - tolerance, cpu + tolerance, wall)
        check(name, "blocked", found["blocked"], blocked - short, blocked + short + unknown, wall)
        check(name, "waiting for a CPU", found["preempted"] + found["woken"], delay - tolerance - unknown, delay + tolerance, wall)
        preempted = delay if name == "busy" else 0
        check(name, "preempted", found["preempted"], preempted - tolerance, preempted + tolerance, wall)
        check(name, "without its function", unplaced[tid], 0, short, wall)
        if name in ("long_sleep", "holder"):
            long = max(LONG, 8 / (rate * wall / 1e9))
            check(name, "blocked", found["blocked"], blocked - long, blocked + long + unknown, wall)
sys.exit(wrong > 0)
