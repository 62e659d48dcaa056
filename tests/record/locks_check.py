"""locks_check.py LOCKS.OUT SAMPLES: compares the owners of locks in samples (tests/record/lock_samples.c) with what
tests/programs/locks.c says of who held them when. Prints a line for each difference above the tolerances."""
import bisect
import collections
import sys

# Of the samples of a mutex at times when a thread held it, those that name an owner. (When the holder has unlocked it, it has none until
# one of the waiters runs.) If the looking process loses its CPU, it finds locks as they are some ms later, and such looks weigh more: their
# time does not count.
OWNED = 0.97, 0
# Of the owners, those who held the mutex at the sample's time; and of their time.
HELD = 0.99, 0.99
# And two samples of a mutex, as a busy host has few looks.
FEW = 2
# A sample has the time when the recorder began to look at all threads; it comes to this one, and reads the owner, up to so much later.
# Then the program notes when it got the mutex, a little later than it did.
LATE = 1_000_000  # ns

# By address: the kind, and who held it when.
kinds = {}
holds = collections.defaultdict(list)
with open(sys.argv[1]) as file:
    for line in file:
        kind, address, tid, begin, end = line.split()
        kinds[address] = kind
        holds[address].append((int(begin), int(end), int(tid)))
for times in holds.values():
    times.sort()


def holders(address, time):
    """Who held the lock from that time until LATE; None if nobody did for some of it."""
    times = holds[address]
    at = max(bisect.bisect(times, (time, 0, 0)) - 1, 0)
    found, until = set(), time
    while at < len(times) and times[at][0] <= time + LATE:
        begin, end, tid = times[at]
        if end >= time:
            if begin > until:
                found.add(None)
            found.add(tid)
            until = end
        at += 1
    # It is free, or passed on already to a thread that has not run since: the kernel does so with priority-inheriting mutexes.
    if until < time + LATE:
        found |= {None} | {tid for _, _, tid in times[at : at + 1]}
    return found


class Share:
    """Of samples, and of their time."""

    def __init__(self):
        self.good, self.all = [0, 0], [0, 0]

    def add(self, is_good, weight):
        for i, n in enumerate((1, weight)):
            self.all[i] += n
            self.good[i] += n * is_good

    def shares(self):
        return [good / n if n else 0 for good, n in zip(self.good, self.all)]


with open(sys.argv[2]) as file:
    samples = [line.split() for line in file]
# The program's own tids, by the recorder's: every owner waits as well, at other times. That of a thread whose first sample arrives
# before what the kernel says of its start is 0; both kinds are in the order of the threads' starts, from the main thread on.
inner = {}
for tid, namespace_tid in sorted({(int(sample[2]), int(sample[3])) for sample in samples}):
    inner[tid] = namespace_tid or 1 + max(inner.values(), default=0)
owned = collections.defaultdict(Share)
held = collections.defaultdict(Share)
guessed = []
for sample in samples:
    time, weight, _, _, address, owner = sample[:6]
    time, weight = int(time), int(weight)
    if kinds.get(address) == "mutex":
        expected = holders(address, time)
        if owner != "-":
            held[address].add(inner.get(int(owner)) in expected, weight)
        if owner != "-" or None not in expected:
            owned[address].add(owner != "-", weight)
    elif owner != "-":
        guessed.append(" ".join(sample))

wrong = []
mutexes = [address for address, kind in kinds.items() if kind == "mutex"]
if len(mutexes) != 6:
    wrong.append(f"{len(mutexes)} mutexes instead of 6")
for address in mutexes:
    for what, of, least in ("have an owner", owned, OWNED), ("name who held it", held, HELD):
        count, time = of[address].shares()
        print(f"# {address}: of {of[address].all[0]} samples {100 * count:.2f} %, {100 * time:.2f} % of the time, {what}")
        n = of[address].all[0]
        if n < 40:
            wrong.append(f"{address}: only {n} samples {what}")
        if n * (least[0] - count) > FEW or n * (least[1] - time) > FEW:
            wrong.append(f"{address}: {100 * count:.2f} % of the samples, {100 * time:.2f} % of the time, {what}")
# The one on the heap has no name.
names = sorted({" ".join(sample[6:]).rsplit("/", 1)[-1] + " " + sample[6] for sample in samples if kinds.get(sample[4]) == "mutex"})
if names != ["+0 +0"] + [f"locks {name}+0" for name in ("checking", "inheriting", "normal", "recursive", "robust")]:
    wrong.append(f"variables: {names}")
wrong += [f"no mutex, but an owner: {line}" for line in guessed[:3]]
print("\n".join(wrong))
sys.exit(bool(wrong))
