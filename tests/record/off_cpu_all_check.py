"""off_cpu_all_check.py WAITS.OUT LOST CAPTURE.CSV: compares each wait of tests/programs/waits.c (--off-cpu=all --min-block 0us) with the
kernel's own counts of switches, and times, of which LOST are counted as lost. Prints a line for each difference.
off_cpu_all_check.py --emulated=SHARE WAITS.OUT LOST CAPTURE.CSV: on a CPU so slow that a wakeup and a switch take long themselves; sums
of times may differ by a share of the time.
off_cpu_all_check.py --min NS CAPTURE.CSV: each wait takes at least that long."""
import csv
import sys

# Shares of the wall time: what a thread has on a CPU and off it.
emulated = sys.argv[1].startswith("--emulated=")
TOTAL = float(sys.argv[1].partition("=")[2]) if emulated else 0.01
# A sample's times are read some us after the scheduler's own, at both ends of a wait: 6 us each on a busy virtual machine.
SWITCH = 20000

samples = {}
with open(sys.argv[-1], newline="") as file:
    for row in csv.DictReader(file):
        row["time"], row["weight"] = int(row["time"]), int(row["weight"])
        row["began"] = row["time"] - row["weight"]
        samples.setdefault(int(row["tid"]), []).append(row)

wrong = 0
complete = []  # threads without a lost wait


def check(name, what, found, expected, tolerance):
    global wrong
    if abs(found - expected) > tolerance:
        wrong += 1
        print(f"{name}: {what}: {found} instead of {expected}")


def check_least(least):
    for tid, rows in samples.items():
        rows.sort(key=lambda row: row["time"])
        for row, after in zip(rows, rows[1:] + [None]):
            # After a wakeup, the wait goes on as another sample.
            goes_on = after and after["state"] == "woken" and after["began"] == row["time"]
            if row["state"] != "woken" and row["weight"] + (after["weight"] if goes_on else 0) < least:
                check(tid, "shortest wait", row["weight"], least, 0)


def check_waits(name, wall, cpu, delay, waits, voluntary, involuntary):
    weights = {state: [row["weight"] for row in waits if row["state"] == state] for state in ("blocked", "preempted", "woken")}
    blocked, slack = weights["blocked"], TOTAL * wall + SWITCH * len(waits)
    check(name, "waits", len(blocked), voluntary, lost)
    check(name, "preemptions", len(weights["preempted"]), involuntary, lost + emulated)
    if len(blocked) != voluntary or len(weights["preempted"]) != involuntary:
        return
    complete.append(name)
    check(name, "on and off a CPU", cpu + sum(row["weight"] for row in waits), wall, slack)
    if not emulated and name != "long_sleep":
        check(name, "waiting for a CPU", sum(weights["preempted"] + weights["woken"]), delay, slack)
    # At either end, it may be in run(), for longer where that is emulated.
    check(name, "without its function", sum(name not in row["stack"].split(";") for row in waits), 0, 6 if emulated else 2)
    if name == "holder" and not emulated:
        exact = sum(abs(weight - 30e6) < 0.6e6 or abs(weight - 10e6) < 0.2e6 for weight in blocked)
        check(name, "waits of 30 or 10 ms", exact, len(blocked), 0.2 * len(blocked))
    if name == "long_sleep":
        # The run delay may be partly from before the wait, and on a busy host schedstat once took the whole sleep for it.
        check(name, "one wait", max(blocked, default=0), wall - cpu - delay, 0.02 * wall + delay)


if sys.argv[1] == "--min":
    check_least(int(sys.argv[2]))
    sys.exit(wrong > 0)
lost = int(sys.argv[-2])
with open(sys.argv[-3]) as file:
    for line in file:
        name, *numbers = line.split()
        tid, wall, cpu, delay, began, voluntary, involuntary = map(int, numbers)
        waits = [row for row in samples.get(tid, []) if began <= row["began"] and row["time"] <= began + wall]
        check_waits(name, wall, cpu, delay, waits, voluntary, involuntary)
# Each lost wait is one thread's; one that waits thousands of times loses some first.
check("all", "threads without a lost wait", len(complete), 9, min(lost + 4 * emulated, 7))
sys.exit(wrong > 0)
