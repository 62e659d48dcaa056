"""off_cpu_check.py LOOKS WAITS.OUT CAPTURE.CSV: compares the sums of each thread's samples with what tests/programs/waits.c and the kernel's
schedstat say. Prints a line for each difference above the tolerances, which depend on how many looks there were per second."""
import collections
import csv
import sys


# Shares of the wall time, by the number of looks in it. Looks are random: the standard deviation of a state that a thread has half of the
# time, in short waits, is 2 % with 600 looks. Six of them, so that the test does not fail by chance. And a thread that waits for a CPU may
# look as blocked as it was before, since the looking process waits as well.
def states(looks, delay):
    return max(0.12, 6 * 0.5 / looks**0.5 + 0.2 * delay)


# Long waits are found by each look; at most an interval between looks is missing at either end.
def long(looks, delay):
    return max(0.02, 8 / looks) + delay


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


def check(name, what, found, expected, wall, tolerance):
    global wrong
    if abs(found - expected) > tolerance * wall:
        wrong += 1
        print(f"{name}: {what}: {found / 1e6:.1f} ms instead of {expected / 1e6:.1f} of {wall / 1e6:.1f}")


with open(sys.argv[2]) as file:
    for line in file:
        name, *numbers = line.split()
        tid, wall, cpu, delay, *_ = map(int, numbers)
        found = sums[tid]
        waiting = found["preempted"] + found["woken"]
        looks = int(sys.argv[1]) * wall / 1e9
        tolerance = states(looks, delay / wall)
        short = SHORT if name == "short_sleeps" else tolerance
        check(name, "all", sum(found.values()), wall, wall, short)
        check(name, "running", found["running"], cpu, wall, tolerance)
        check(name, "blocked", found["blocked"], wall - cpu - delay, wall, short)
        # Of waits for a CPU that follow short sleeps, more are taken for the sleep.
        check(name, "waiting for a CPU", waiting, delay, wall, tolerance + (SHORT * delay / wall if name == "short_sleeps" else 0))
        check(name, "preempted", found["preempted"], delay if name == "busy" else 0, wall, tolerance)
        check(name, "without its function", unplaced[tid], 0, wall, short)
        if name in ("long_sleep", "holder"):
            check(name, "blocked", found["blocked"], wall - cpu - delay, wall, long(looks, delay / wall))
sys.exit(wrong > 0)
