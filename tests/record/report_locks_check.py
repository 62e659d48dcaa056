"""report_locks_check.py REPORT SAMPLES: checks what `report --locks` prints of a capture of tests/programs/locks.c against its samples
(tests/record/lock_samples.c). Prints a line for each difference."""
import collections
import re
import sys

MUTEXES = "normal", "recursive", "checking", "robust", "inheriting"
OTHERS = "condition", "rwlock", "semaphore", "own"
# A holder sleeps in pause_for all the time; a thread that has just unlocked the mutex or got it may be seen elsewhere. The kernel passes a
# priority-inheriting mutex on to a thread that still waits for a CPU in pthread_mutex_lock, long on a busy host.
PAUSING = 0.9
NOT_SAMPLED = 0.02

wrong = []


def expect(is_right, text):
    if not is_right:
        wrong.append(text)


# The samples' own sums, by the lock's name; and its waiting and holding threads.
time, count, waiters, holders = collections.Counter(), collections.Counter(), collections.defaultdict(set), collections.defaultdict(set)
free = collections.Counter()  # until one of the waiters runs, which takes long on a busy host
with open(sys.argv[2]) as file:
    for line in file:
        _, weight, tid, _, address, owner, variable, *module = line.split()
        name, offset = variable.split("+")
        lock = f"{variable.removesuffix('+0')} in locks" if name else address
        time[lock] += int(weight)
        count[lock] += 1
        waiters[lock].add(tid)
        holders[lock].add(owner)
        free[lock] += int(weight) if owner == "-" else 0
whole = sum(time.values())

with open(sys.argv[1]) as file:
    text = file.read()
table, tree = text.split("\n\n")[1:3]

# The table: each lock, and below it the functions that wait.
rows = {}
lock = None
for line in table.splitlines()[2:]:
    if line.startswith("#"):
        continue
    share, amount, n, threads, indent, name = re.fullmatch(r" *([\d.]+) % +(\S+ \S+) +([\d,]+) +([\d,]*)(  +)(.*)", line).groups()
    if threads:
        lock = name
        rows[lock] = {}
        expect(lock in time, f"{lock}: no such lock")
        expect(abs(float(share) / 100 - time[lock] / whole) < 0.0001, f"{lock}: {share} % instead of {100 * time[lock] / whole:.2f} %")
        expect(int(n.replace(",", "")) == count[lock], f"{lock}: {n} samples instead of {count[lock]}")
        expect(int(threads) == len(waiters[lock]), f"{lock}: {threads} threads instead of {len(waiters[lock])}")
    else:
        rows[lock][name] = float(share)
expect(sorted(rows, key=lambda lock: -time[lock]) == list(rows), f"not by time: {list(rows)}")

# The tree: by lock, the shares of its holders and of functions below these.
shares = collections.defaultdict(lambda: collections.Counter())
share, seen = 0, set()
for line in tree.splitlines()[2:]:
    own, branch, name = re.fullmatch(r".{10}(?: *([\d.]+) %| {8})  .{9}  ((?:│  |   |├─ |└─ )*)(.*)", line).groups()
    if own:
        share = float(own)
    if own and not branch:
        lock, seen = name, set()
        continue
    if name.startswith("locks ("):
        seen = set()
    if own or name not in seen:
        shares[lock][name] += share
    seen.add(name)

for name in MUTEXES + OTHERS:
    found = [lock for lock in rows if re.fullmatch(rf"{name}(\+0x[0-9a-f]+)? in locks", lock)]
    if len(found) != 1:
        wrong.append(f"{name}: {found}")
        continue
    lock = found[0]
    all_of_it = 100 * time[lock] / whole
    function = "with_mutex" if name in MUTEXES else f"with_{name}"
    expect(rows[lock].get(function, 0) > 0.98 * all_of_it, f"{lock}: waited for in {rows[lock]}")
    if name in OTHERS:
        expect(list(shares[lock]) == ["holder unknown (not a glibc mutex)"], f"{lock}: {dict(shares[lock])}")
        continue
    tids = {name[len("locks ("):-1] for name in shares[lock] if name.startswith("locks (")}
    expect(tids == holders[lock] - {"-"}, f"{lock}: held by {tids} instead of {holders[lock]}")
    pausing = shares[lock]["pause_for (inlined)"] + shares[lock]["pause_for"]
    if name == "inheriting":
        pausing += max((share for function, share in shares[lock].items() if "mutex_lock" in function), default=0)
    unheld = 100 * free[lock] / whole
    # Rows below 0.5 % are hidden.
    expect(unheld < 0.52 or abs(shares[lock]["[no holder]"] - unheld) < 0.02, f"{lock}: without a holder: {shares[lock]['[no holder]']} % instead of {unheld:.2f} %")
    expect(pausing > PAUSING * (all_of_it - unheld), f"{lock}: {pausing} % of {all_of_it:.2f} % in pause_for: {dict(shares[lock])}")
    expect(shares[lock]["[not sampled]"] < NOT_SAMPLED * all_of_it, f"{lock}: {dict(shares[lock])}")
print("\n".join(wrong))
sys.exit(bool(wrong))
